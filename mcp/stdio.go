package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// drainTime is how long after the end of its input a server finishes the requests under way.
const drainTime = time.Second

// ServeStdio serves one client over a pair of streams until the client closes its side or ctx
// ends, and returns when all calls have ended. It writes only protocol messages to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	connection := newLineConn(in, out, s.opts.MaxLine, drainTime)
	session, err := s.sdk.Connect(context.WithoutCancel(ctx), connection, nil)
	if err != nil {
		return fmt.Errorf("serve standard input: %w", err)
	}
	// To close the session instead would wait for the calls under way.
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	err = session.Wait()
	s.calls.Wait()
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}
