package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/freshet/freshet/mcp/tool"
)

// errHostGone is returned by a call whose host ended before it answered: it may be made
// again on the next host, since every call may be repeated.
var errHostGone = errors.New("the host ended")

// errRefused is returned when the host does not take calls of this version.
var errRefused = errors.New("refused by the host")

// call makes one call on a data directory's socket.
func call(ctx context.Context, home, version, verb string, params json.RawMessage, observe tool.Observer) (*tool.Envelope, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socketPath(home))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return nil, errHostGone
		}
		return nil, fmt.Errorf("attach to host: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // the host sees the hang-up and cancels
	defer func() {
		stop()
		_ = conn.Close() // nothing is left to be written
	}()
	err = json.NewEncoder(conn).Encode(request{Protocol: protocol, Version: version, Verb: verb, Params: params})
	if err != nil {
		return nil, gone(ctx, err)
	}
	reader := bufio.NewReaderSize(conn, 64<<10)
	for {
		frame, err := readFrame(reader)
		if err != nil {
			return nil, gone(ctx, err)
		}
		var r reply
		if err := json.Unmarshal(frame, &r); err != nil {
			return nil, fmt.Errorf("read reply: %w", err)
		}
		switch {
		case r.Notice != nil:
			if err := observe(*r.Notice); err != nil {
				return nil, err
			}
		case r.Takeover:
			return nil, errHostGone
		case r.Refused != "":
			refused := tool.Errorf(tool.CodeStoreUnavailable, "%w: %s", errRefused, r.Refused).
				Next(command("freshet version", "shows the version of this binary"))
			refused.Retryable = false // not until one of the two is another binary
			return nil, refused
		default:
			return r.Envelope, nil
		}
	}
}

// gone turns a broken connection into the reason why it broke.
func gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errFrameTooLarge) {
		return err
	}
	return errHostGone
}
