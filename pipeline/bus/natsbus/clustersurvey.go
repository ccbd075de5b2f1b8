package natsbus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Survey is the state of a remote cluster, as Look finds it.
type Survey struct {
	// Servers are those of the URL, in its order.
	Servers []ServerSurvey
	// Streams are those of the tenant. They do not exist before the first Open.
	Streams []StreamSurvey
	// Err is why the streams could not be looked up.
	Err error
	// Dated is set when the cluster reported its time, and Ahead is the clock skew: how far
	// the cluster's clock is ahead of the local one.
	Dated bool
	Ahead time.Duration
}

// ServerSurvey is one server of a cluster.
type ServerSurvey struct {
	// Address is the server's URL without password or token.
	Address       string
	Err           error // why it could not be reached
	Name, Version string
	RoundTrip     time.Duration
	// Refused is why its version is refused, nil when it is not.
	Refused error
}

// StreamSurvey is one stream of the tenant.
type StreamSurvey struct {
	Name string
	// Missing is set when the stream does not exist.
	Missing bool
	// Wrong names each setting that differs from the one that freshet sets.
	Wrong []string
	// Leader is the leading server, "" while there is none. Behind names the replicas that
	// are offline or not current.
	Leader   string
	Behind   []string
	Replicas int
	// Bytes is the size of the stream, MaxBytes its limit.
	Bytes, MaxBytes uint64
}

// surveyWait bounds the check of one server, or of one stream, which is tried surveyTries times.
const (
	surveyWait  = 6 * time.Second
	surveyTries = 4
)

// Look inspects the cluster at o.URL without creating or changing anything. It returns an
// error for wrong options; failures of the cluster are in the survey.
func Look(ctx context.Context, o Options) (Survey, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Survey{}, fmt.Errorf("survey: %w", err)
	}
	b := &Bus{opts: o}
	options, err := b.remoteOptions()
	if err != nil {
		return Survey{}, fmt.Errorf("survey: %w", err)
	}
	options = append(options, nats.NoReconnect(), nats.Timeout(surveyWait))
	var s Survey
	for address := range strings.SplitSeq(o.URL, ",") {
		if address = strings.TrimSpace(address); address != "" {
			s.Servers = append(s.Servers, lookAtServer(address, options))
		}
	}
	if b.conn, err = nats.Connect(o.URL, options...); err != nil {
		s.Err = fmt.Errorf("connect to %s: %w", redacted(o.URL), err)
		return s, nil
	}
	defer b.conn.Close()
	if b.js, err = jetstream.New(b.conn); err != nil {
		return s, fmt.Errorf("survey: %w", err)
	}
	for _, wanted := range []jetstream.StreamConfig{b.wantedLog(), b.wantedDead()} {
		stream, err := b.lookAtStream(ctx, wanted, &s)
		if err != nil {
			s.Err = fmt.Errorf("look up stream %s: %w", wanted.Name, err)
			return s, nil
		}
		s.Streams = append(s.Streams, stream)
	}
	return s, nil
}

func lookAtServer(address string, options []nats.Option) ServerSurvey {
	s := ServerSurvey{Address: redacted(address)}
	conn, err := nats.Connect(address, append(options[:len(options):len(options)], nats.IgnoreDiscoveredServers())...)
	if err != nil {
		s.Err = err
		return s
	}
	defer conn.Close()
	s.Name, s.Version = conn.ConnectedServerName(), conn.ConnectedServerVersion()
	s.Refused = checkVersion(s.Version)
	s.RoundTrip, s.Err = conn.RTT()
	return s
}

func (b *Bus) lookAtStream(ctx context.Context, wanted jetstream.StreamConfig, s *Survey) (StreamSurvey, error) {
	found := StreamSurvey{Name: wanted.Name}
	stream, asked, err := b.ask(ctx, wanted.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		found.Missing = true
		return found, nil
	}
	if err != nil {
		return found, err
	}
	info, took := stream.CachedInfo(), b.opts.Now().Sub(asked)
	if !info.TimeStamp.IsZero() {
		s.Dated, s.Ahead = true, info.TimeStamp.Sub(asked.Add(took/2))
	}
	found.Wrong = b.wrong(info.Config, wanted)
	found.Replicas, found.Bytes, found.MaxBytes = max(info.Config.Replicas, 1), info.State.Bytes, uint64(max(info.Config.MaxBytes, 0))
	if info.Cluster == nil { // of a server that is in no cluster
		found.Leader = b.conn.ConnectedServerName()
		return found, nil
	}
	found.Leader = info.Cluster.Leader
	for _, peer := range info.Cluster.Replicas {
		if peer.Offline || !peer.Current {
			found.Behind = append(found.Behind, peer.Name)
		}
	}
	return found, nil
}

// ask looks a stream up, surveyTries times while the cluster elects its leaders. It returns
// the time of the request that was answered.
func (b *Bus) ask(ctx context.Context, name string) (stream jetstream.Stream, asked time.Time, err error) {
	for range surveyTries {
		patience, cancel := context.WithTimeout(ctx, surveyWait/surveyTries)
		asked = b.opts.Now()
		stream, err = b.js.Stream(patience, name)
		if unready(err) {
			<-patience.Done()
		}
		cancel()
		if !unready(err) || ctx.Err() != nil {
			break
		}
	}
	return stream, asked, err
}

// wrong names the settings for which Open refuses a stream.
func (b *Bus) wrong(have, want jetstream.StreamConfig) []string {
	version, err := strconv.Atoi(have.Metadata[keySettings])
	switch {
	case err != nil || have.Metadata[keyIncarnation] == "":
		return []string{"not made by freshet"}
	case version > settings:
		return []string{fmt.Sprintf("settings of version %d, this binary knows %d", version, settings)}
	}
	return b.foreignSettings(version, have, want)
}
