package natsbus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
)

// errAway is returned while no server is connected.
var errAway = errors.New("no server can be reached")

// connectionState is the state of the connection to a remote server, as its handlers
// report it. The NATS client blocks callers while it reconnects; this does not.
type connectionState struct {
	mu   sync.Mutex // guards all below
	away bool
	// refused is why the connected server must not be used, nil when it may.
	refused error
}

// watch returns the connection options that keep the connection state up to date. A server
// that the client reconnects to is checked like the first one.
func (b *Bus) watch() []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(*nats.Conn, error) { b.connection.set(true, nil) }),
		nats.ReconnectHandler(func(conn *nats.Conn) {
			err := checkVersion(conn.ConnectedServerVersion())
			if err != nil {
				b.opts.Log.Error("the event log cannot be used", "server", conn.ConnectedUrlRedacted(), "error", err)
			}
			b.connection.set(false, err)
		}),
	}
}

func (l *connectionState) set(away bool, refused error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away, l.refused = away, refused
}

// check returns why the connection cannot be used now, nil when it can.
func (l *connectionState) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return errAway
	}
	return l.refused
}

// refusal returns why the connected server must not be used, nil when it may.
func (l *connectionState) refusal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// join adds a call that relies on the server's acknowledgements to the group of calls. It
// fails while a refused server is connected. Consumers and readers do not use it: they lose
// nothing on such a server and go on when the client reconnects to another.
func (b *Bus) join(ctx context.Context) (context.Context, func(), error) {
	ctx, leave, err := b.calls.join(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := b.connection.refusal(); err != nil {
		leave()
		return nil, nil, fmt.Errorf("the event log cannot be used: %w", err)
	}
	return ctx, leave, nil
}

// Connection returns why no server can be used now, nil when one can. It reports the known
// state and sends nothing.
func (b *Bus) Connection() error { return b.connection.check() }

// Ping returns nil when the log answers: a server is reachable and the log's stream has a
// leader. It changes nothing.
func (b *Bus) Ping(ctx context.Context) error {
	ctx, leave, err := b.join(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err = b.connection.check(); err == nil {
		_, err = b.js.Stream(ctx, b.wantedLog().Name)
	}
	if err != nil {
		return fmt.Errorf("ask event log: %w", err)
	}
	return nil
}
