package natsbus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
)

// The timeouts for a cluster.
const (
	answerWait  = 3 * time.Second        // of the first attempt to publish, doubled for each retry: the leader may be gone
	lookWait    = time.Second            // of one look-up of a stream: nobody answers for one in creation
	greetWait   = 15 * time.Second       // of Open, for a server that accepts connections and does not greet in time
	electWait   = time.Minute            // of Open, for the election of leaders
	electPause  = 200 * time.Millisecond // between the attempts of Open
	clusterSize = 3
)

// A server that answers no ping is stopped or unreachable: after at most unansweredPings+1
// times pingEvery the client reconnects to another server of the cluster. By default it
// would wait for six minutes.
const (
	pingEvery       = 3 * time.Second
	unansweredPings = 2
)

// The error codes of the server that are retried. A batch is incomplete when the leader that
// staged its first messages is not the one that gets its last: none of it is in the log.
const (
	codeNoPeers     = 10005
	codeUnavailable = 10008
	codeIncomplete  = 10176
	codeInFlight    = 10210
)

// remote reports whether the log is on a remote server.
func (b *Bus) remote() bool { return b.opts.URL != "" }

// remoteOptions returns the options of a connection to a remote server.
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

// openRemote connects to a remote server and attaches to its streams.
func (b *Bus) openRemote(ctx context.Context) error {
	options, err := b.remoteOptions()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(greetWait)
	conn, err := nats.Connect(b.opts.URL, options...)
	for timedOut(err) && ctx.Err() == nil && time.Now().Before(deadline) {
		conn, err = nats.Connect(b.opts.URL, options...)
	}
	if err != nil {
		return fmt.Errorf("connect to %s: %w", redacted(b.opts.URL), err)
	}
	b.conn = conn
	if err := checkVersion(conn.ConnectedServerVersion()); err != nil {
		return err
	}
	if err := b.subscribeAdvisories(); err != nil {
		return err
	}
	deadline = time.Now().Add(electWait)
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

// timedOut reports whether a server accepted the connection and did not greet in time.
func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, nats.ErrTimeout) || errors.As(err, &timeout) && timeout.Timeout()
}

// lookUp looks up a stream. When nobody answers in time, unready reports true of the error.
func (b *Bus) lookUp(ctx context.Context, name string) (jetstream.Stream, error) {
	if !b.remote() {
		return b.js.Stream(ctx, name)
	}
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	return b.js.Stream(ctx, name)
}

// redacted returns a list of URLs without passwords and tokens.
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
			u.User = url.User("xxxxx") // a token may be in the place of the user
			list[i] = u.String()
		}
	}
	return strings.Join(list, ",")
}

// unready reports whether an error is that of a cluster without a leader, which is retried.
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

// unanswered reports whether a publish should be retried. It waits for bus.MinDelay before
// it returns true.
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

// replicas returns the number of replicas of the streams.
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

// limits names the limits in which a remote stream differs from the wanted ones.
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
