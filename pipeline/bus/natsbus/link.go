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
	mu  sync.Mutex // guards all below
	err error      // why the connection cannot be used, nil when it can
}

// watch returns the options of a connection that keep the link up to date.
func (l *link) watch() []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(*nats.Conn, error) { l.set(errAway) }),
		nats.ReconnectHandler(func(*nats.Conn) { l.set(nil) }),
	}
}

func (l *link) set(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *link) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Ping returns nil when the log answers, which takes a server that can be reached and a leader
// of the log's stream. It changes nothing.
func (b *Bus) Ping(ctx context.Context) error {
	ctx, leave, err := b.calls.join(ctx)
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
