package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
)

// errAway says that no server is connected.
var errAway = errors.New("no server can be reached")

// link is what is known of the connection to a server elsewhere. The client itself answers
// nobody while it connects.
type link struct {
	mu   sync.Mutex // guards all below
	away bool
	// refused is why the server that is connected is not to be used, nil when it is.
	refused error
}

// watch returns the options of a connection that keep the link up to date. A server that the
// connection is made to later is looked at like the first one.
func (b *Bus) watch() []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(*nats.Conn, error) { b.link.set(true, nil) }),
		nats.ReconnectHandler(func(conn *nats.Conn) {
			err := checkVersion(conn.ConnectedServerVersion())
			if err != nil {
				b.opts.Log.Error("the event log cannot be used", "server", conn.ConnectedUrlRedacted(), "error", err)
			}
			b.link.set(false, err)
		}),
	}
}

func (l *link) set(away bool, refused error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away, l.refused = away, refused
}

// check returns why the connection cannot be used now, nil when it can.
func (l *link) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return errAway
	}
	return l.refused
}

// refusal returns why the server that is connected is not to be used.
func (l *link) refusal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// join joins a call that relies on what the server says it keeps. What consumes and reads goes
// on with a server that is refused: it finds the next one by itself, and loses nothing.
func (b *Bus) join(ctx context.Context) (context.Context, func(), error) {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := b.link.refusal(); err != nil {
		leave()
		return nil, nil, fmt.Errorf("the event log cannot be used: %w", err)
	}
	return ctx, leave, nil
}

// Connection returns why no server can be used now, as far as the connection tells without
// asking; nil when one can.
func (b *Bus) Connection() error { return b.link.check() }

// Ping returns nil when the log answers, which takes a server that can be reached and a leader
// of the log's stream. It changes nothing.
func (b *Bus) Ping(ctx context.Context) error {
	ctx, leave, err := b.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err = b.link.check(); err == nil {
		_, err = b.js.Stream(ctx, b.wantedLog().Name)
	}
	if err != nil {
		return fmt.Errorf("ask event log: %w", err)
	}
	return nil
}
