package host

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/freshet/freshet/cmd/socket"
	"github.com/freshet/freshet/mcp/tool"
)

// attachedWait bounds how long a host of another process may take to say whether it is ready.
const attachedWait = 3 * time.Second

// Ready returns nil when log and store of the host answer within seconds: the host that this
// session is, or the one it is attached to. Where none is left it becomes the host first. The
// error names no address.
func (s *Session) Ready(ctx context.Context) error {
	host, err := s.hosting()
	if host == nil && err == nil {
		if err = s.askReady(ctx); !errors.Is(err, socket.ErrHostGone) {
			return err
		}
		if err = s.Warm(ctx); err == nil {
			host, err = s.hosting()
		}
	}
	switch {
	case err != nil:
		s.opts.Log.Warn("host is not ready", "error", err)
		return errors.New("no process serves the data directory")
	case host == nil:
		return errors.New("another process takes over the data directory")
	}
	return host.standing.Ready(ctx)
}

// askReady asks the host that this session is attached to.
func (s *Session) askReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attachedWait)
	defer cancel()
	envelope, err := socket.Call(ctx, s.opts.Home, s.opts.Version, verbReady, json.RawMessage("{}"), func(tool.Notice) error { return nil })
	switch {
	case errors.Is(err, socket.ErrHostGone):
		return err
	case err != nil:
		s.opts.Log.Warn("host is not ready", "error", err)
		return errors.New("the host of the data directory does not answer")
	case envelope.Error != nil:
		return errors.New(envelope.Error.Message)
	}
	return nil
}
