package natsbus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
)

// The patience with a cluster: how long a publish waits for its acknowledgement before it
// is sent again, because the leader that it went to may be gone, how long one look for a
// stream waits, because nobody answers for one that is just being made, and how long Open
// waits for a cluster that elects its leaders.
const (
	answerWait  = 3 * time.Second
	lookWait    = time.Second
	electWait   = 20 * time.Second
	electPause  = 200 * time.Millisecond
	clusterSize = 3
)

// A server that answers no ping is stopped, or out of reach without a word: after at most
// unansweredPings+1 times pingEvery another one of the cluster is turned to. By itself the
// client would wait for six minutes.
const (
	pingEvery       = 3 * time.Second
	unansweredPings = 2
)

// The server's errors that another try may mend. A batch is incomplete where the leader that
// staged its first messages is not the one that gets its last: none of it is in the log.
const (
	codeNoPeers     = 10005
	codeUnavailable = 10008
	codeIncomplete  = 10176
	codeInFlight    = 10210
)

// remote reports whether the server is elsewhere.
func (b *Bus) remote() bool { return b.opts.URL != "" }

// remoteOptions are those of a connection to a server elsewhere.
func (b *Bus) remoteOptions() ([]nats.Option, error) {
	options := append(b.connectOptions(), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(unansweredPings))
	options = append(options, b.watch()...)
	r := b.opts.Remote
	if r.Credentials != "" && r.NKey != "" {
		return nil, errors.New("credentials and an nkey are both given: want one of them")
	}
	if r.Credentials != "" {
		options = append(options, nats.UserCredentials(r.Credentials))
	}
	if r.NKey != "" {
		option, err := nats.NkeyOptionFromSeed(r.NKey)
		if err != nil {
			return nil, fmt.Errorf("nkey: %w", err)
		}
		options = append(options, option)
	}
	if r.CA != "" {
		options = append(options, nats.RootCAs(r.CA))
	}
	if (r.Cert == "") != (r.Key == "") {
		return nil, errors.New("a client certificate needs both its file and that of its key")
	}
	if r.Cert != "" {
		options = append(options, nats.ClientCert(r.Cert, r.Key))
	}
	return options, nil
}

// openRemote connects to a server elsewhere and attaches to its streams.
func (b *Bus) openRemote(ctx context.Context) error {
	options, err := b.remoteOptions()
	if err != nil {
		return err
	}
	conn, err := nats.Connect(b.opts.URL, options...)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", redacted(b.opts.URL), err)
	}
	b.conn = conn
	if err := checkVersion(conn.ConnectedServerVersion()); err != nil {
		return err
	}
	if err := b.heed(); err != nil {
		return err
	}
	deadline := time.Now().Add(electWait)
	for {
		err := b.attach(ctx)
		if !unready(err) || time.Now().After(deadline) {
			return err
		}
		b.opts.Log.Debug("cluster is not ready yet", "error", err)
		timer := time.NewTimer(electPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		case <-timer.C:
		}
	}
}

// look looks up a stream. The error of one that nobody answered for is one of unready.
func (b *Bus) look(ctx context.Context, name string) (jetstream.Stream, error) {
	if !b.remote() {
		return b.js.Stream(ctx, name)
	}
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	return b.js.Stream(ctx, name)
}

// redacted is a list of URLs without what nobody is to see.
func redacted(urls string) string {
	list := strings.Split(urls, ",")
	for i, one := range list {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err != nil:
			list[i] = "(a URL that cannot be read)"
		case u.User == nil:
			list[i] = u.String()
		default:
			u.User = url.User("xxxxx") // a token stands in the place of the user
			list[i] = u.String()
		}
	}
	return strings.Join(list, ",")
}

// unready reports whether an error is that of a cluster that has no leader yet, or lost it.
func unready(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case codeNoPeers, codeUnavailable, codeIncomplete, codeInFlight:
			return true
		}
		return api.Code == http.StatusServiceUnavailable
	}
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, context.DeadlineExceeded)
}

// unanswered reports whether a publish ought to be made again, after a pause.
func (b *Bus) unanswered(ctx context.Context, err error) bool {
	if !b.remote() || err == nil || ctx.Err() != nil || errors.Is(err, bus.ErrFull) || !unready(err) {
		return false
	}
	timer := time.NewTimer(bus.MinDelay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// replicas is how many servers keep the streams.
func (b *Bus) replicas() int {
	switch {
	case !b.remote():
		return 1
	case b.opts.Remote.Replicas > 0:
		return b.opts.Remote.Replicas
	case b.conn != nil && b.conn.ConnectedClusterName() != "":
		return clusterSize
	}
	return 1
}

// limits names the limits in which a stream elsewhere differs from what is wanted.
func limits(have, want jetstream.StreamConfig) []string {
	var names []string
	check := func(name string, have, want int64) {
		if have != want {
			names = append(names, fmt.Sprintf("%s %d instead of %d", name, have, want))
		}
	}
	check("replicas", int64(max(have.Replicas, 1)), int64(max(want.Replicas, 1)))
	check("max bytes", have.MaxBytes, want.MaxBytes)
	check("max message size", int64(have.MaxMsgSize), int64(want.MaxMsgSize))
	return names
}
