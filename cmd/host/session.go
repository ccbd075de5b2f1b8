package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/freshet/freshet/mcp/tool"
)

// Session makes calls on a data directory: as its host, or attached to the host there is.
// When that host ends, the session attaches to the next one or becomes it, and makes the
// call again. It may be used from several goroutines.
type Session struct {
	opts Options
	// turn is held by whoever tries to become the host, which takes a while.
	turn chan struct{}

	mu     sync.Mutex // guards what follows
	host   *Host      // nil while attached
	closed bool
}

// NewSession returns a session on a data directory without touching it: the first call
// attaches to the host there is, or becomes it.
func NewSession(opts Options) *Session {
	return &Session{opts: opts.withDefaults(), turn: make(chan struct{}, 1)}
}

// Connect returns a session on a data directory that is its host if there was none.
func Connect(ctx context.Context, opts Options) (*Session, error) {
	s := NewSession(opts)
	if err := s.Warm(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Warm becomes the host if there is none, so that the first call need not.
func (s *Session) Warm(ctx context.Context) error {
	if err := s.become(ctx); err != nil && !errors.Is(err, errHeld) {
		return err
	}
	return nil
}

// errSessionClosed is returned by calls after Close.
var errSessionClosed = errors.New("the session is closed")

// hosting returns the host that this session is, nil while it is attached.
func (s *Session) hosting() (*Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errSessionClosed
	}
	return s.host, nil
}

// become tries to be the host; errHeld says that another process is.
func (s *Session) become(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if host, err := s.hosting(); host != nil || err != nil {
		return err
	}
	host, err := Open(ctx, s.opts)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Join(errSessionClosed, host.Close())
	}
	s.host = host
	return nil
}

// The pauses between tries to find a host that is starting or ending, and how long to try.
const (
	attachPause    = 10 * time.Millisecond
	attachPauseMax = 250 * time.Millisecond
	attachTimeout  = time.Minute
)

// Call makes one call and returns its envelope. Errors are about reaching a host; what the
// call itself has to say is in the envelope.
func (s *Session) Call(ctx context.Context, verb string, params any, observe tool.Observer) (*tool.Envelope, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode parameters of %s: %w", verb, err)
	}
	if observe == nil {
		observe = func(tool.Notice) error { return nil }
	}
	wait, began := attachPause, time.Now()
	for {
		host, err := s.hosting()
		if err != nil {
			return nil, err
		}
		if host != nil {
			return host.dispatch(ctx, verb, raw, observe), nil
		}
		envelope, err := call(ctx, s.opts.Home, s.opts.Version, verb, raw, observe)
		if err == nil || !errors.Is(err, errHostGone) {
			return envelope, err
		}
		if err := s.become(ctx); err == nil {
			continue
		} else if !errors.Is(err, errHeld) {
			return nil, err
		}
		if lasted := time.Since(began).Round(time.Second); lasted >= silenceCheck {
			if holder, _ := lockHolder(s.opts.Home); suspended(holder) || lasted >= attachTimeout {
				return nil, silent(s.opts.Home, holder, lasted)
			}
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
		wait = min(2*wait, attachPauseMax)
	}
}

// Close ends the session; a host first lets the calls of attached processes end. Calls of
// this session ought to have ended before. It may be called twice.
func (s *Session) Close() error {
	s.mu.Lock()
	host := s.host
	s.host, s.closed = nil, true
	s.mu.Unlock()
	if host == nil {
		return nil
	}
	return host.Close()
}
