package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/salvage"
	"github.com/freshet/freshet/cmd/socket"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// Session makes calls on a data directory: as its host, or attached to the host there is.
// When that host ends, the session attaches to the next one or becomes it, and makes the
// call again. It may be used from several goroutines.
type Session struct {
	opts Options
	// turn is held by whoever tries to become the host, which takes a while.
	turn chan struct{}
	// replaced is when the store was last made anew. Who has the turn may use it.
	replaced time.Time
	swaps    sync.WaitGroup

	mu     sync.Mutex // guards what follows
	host   *Host      // nil while attached
	closed bool
}

// NewSession returns a session on a data directory without touching it: the first call
// attaches to the host there is, or becomes it.
func NewSession(opts Options) *Session {
	return &Session{opts: opts.withDefaults(), turn: make(chan struct{}, 1)}
}

// Connect returns a session on a data directory that is its host if there was none. A store
// that is too damaged to be opened shows at the first call, which may be the one to repair it.
func Connect(ctx context.Context, opts Options) (*Session, error) {
	s := NewSession(opts)
	if err := s.Warm(ctx); err != nil && !(store.IsDamage(err) && opts.mayReplace()) {
		return nil, err
	}
	return s, nil
}

// Warm becomes the host if there is none, so that the first call need not.
func (s *Session) Warm(ctx context.Context) error {
	if err := s.become(ctx); err != nil && !errors.Is(err, datadir.ErrHeld) {
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

// become tries to be the host; datadir.ErrHeld says that another process is.
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
	return s.open(ctx)
}

// open becomes the host. The caller has the turn.
func (s *Session) open(ctx context.Context) error {
	opts := s.opts
	opts.onSuccessor = func(h *Host) { s.swaps.Go(func() { s.swap(h) }) }
	opts.replaced = s.replaced
	host, err := Open(ctx, opts)
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

// swap ends a host, puts the store that it made anew in the place of the damaged one, and
// becomes the host again. Calls that are made meanwhile wait for the turn.
func (s *Session) swap(old *Host) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.mu.Lock()
	if s.host != old {
		s.mu.Unlock()
		return
	}
	s.host = nil
	s.mu.Unlock()
	err := old.Close()
	if err != nil {
		s.opts.Log.Warn("host of a damaged store ended", "error", err)
	}
	lock, err := datadir.Lock(s.opts.Home)
	if err == nil {
		_, err = salvage.Replace(s.opts.salvage(), old.successor)
		err = errors.Join(err, lock.Close())
	}
	s.replaced = s.opts.Now()
	if err == nil {
		err = s.open(context.Background()) // who calls next tries again
	}
	if err != nil && !errors.Is(err, errSessionClosed) {
		s.opts.Log.Error("store could not be replaced", "error", err)
	}
}

// mend replaces a store that does not open.
func (s *Session) mend(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if s.replaced.After(s.opts.Now().Add(-againWithin)) {
		return errAgain
	}
	err := salvage.Rescue(ctx, s.opts.salvage())
	if err == nil {
		s.replaced = s.opts.Now()
	}
	if errors.Is(err, datadir.ErrHeld) {
		return nil
	}
	return err
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
			if envelope := host.dispatchLocal(ctx, verb, raw, observe); envelope != nil {
				return envelope, nil
			}
			if err := bus.Pause(ctx, attachPause); err != nil {
				return nil, err
			}
			continue
		}
		envelope, err := socket.Call(ctx, s.opts.Home, s.opts.Version, verb, raw, observe)
		if err == nil || !errors.Is(err, socket.ErrHostGone) {
			return envelope, err
		}
		if err := s.become(ctx); err == nil {
			continue
		} else if store.IsDamage(err) && s.opts.mayReplace() && repairs(verb, raw) {
			if err := s.mend(ctx); err != nil {
				return nil, err
			}
			continue
		} else if !errors.Is(err, datadir.ErrHeld) {
			return nil, err
		}
		if lasted := time.Since(began).Round(time.Second); lasted >= socket.SilenceCheck {
			if holder, _ := datadir.Holder(s.opts.Home); socket.Suspended(holder) || lasted >= attachTimeout {
				return nil, socket.Silent(s.opts.Home, holder, lasted)
			}
		}
		if err := bus.Pause(ctx, wait); err != nil {
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
	s.swaps.Wait()
	if host == nil {
		return nil
	}
	return host.Close()
}
