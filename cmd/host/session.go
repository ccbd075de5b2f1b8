package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/mcp/tool"
)

// Session makes calls on a data directory: as its host, or attached to the host there is.
// When that host ends, the session attaches to the next one or becomes it, and makes the
// call again.
type Session struct {
	opts Options
	host *Host // nil while attached
}

// Connect returns a session on a data directory.
func Connect(ctx context.Context, opts Options) (*Session, error) {
	s := &Session{opts: opts.withDefaults()}
	if err := s.become(ctx); err != nil && !errors.Is(err, errHeld) {
		return nil, err
	}
	return s, nil
}

// become tries to be the host; errHeld says that another process is.
func (s *Session) become(ctx context.Context) error {
	host, err := Open(ctx, s.opts)
	if err == nil {
		s.host = host
	}
	return err
}

// The pauses between tries to find a host that is starting or ending, and how long to try.
const (
	attachPause    = 10 * time.Millisecond
	attachPauseMax = 250 * time.Millisecond
	attachTimeout  = 30 * time.Second
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
	pause, deadline := attachPause, time.Now().Add(attachTimeout)
	for {
		if s.host != nil {
			return s.host.dispatch(ctx, verb, raw, observe), nil
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
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("the process that holds %s does not answer; end it and try again", s.opts.Home)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
		pause = min(2*pause, attachPauseMax)
	}
}

// Close ends the session; a host first lets the calls of attached processes end.
func (s *Session) Close() error {
	if s.host == nil {
		return nil
	}
	host := s.host
	s.host = nil
	return host.Close()
}
