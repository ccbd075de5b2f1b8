package socket

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
)

// ErrHostGone is returned by a call whose host ended before it answered: it may be made
// again on the next host, since every call may be repeated.
var ErrHostGone = errors.New("the host ended")

// ErrRefused is returned when the host does not take calls of this version.
var ErrRefused = errors.New("refused by the host")

// dial connects to the host of a data directory, which must be of this user. A host that does
// not take connections is waited for as long as one that does not answer.
func dial(ctx context.Context, home string) (conn net.Conn, pid int, err error) {
	if err := datadir.Check(home); err != nil {
		return nil, 0, err
	}
	var dialer net.Dialer
	for tries := 0; ; tries++ {
		conn, err = dialer.DialContext(ctx, "unix", Path(home))
		if !errors.Is(err, syscall.EAGAIN) { // its queue is full
			break
		}
		holder, _ := datadir.Holder(home)
		if lasted := time.Duration(tries) * queuePause; lasted >= SilenceCheck && (Suspended(holder) || lasted >= maxSilences*SilenceCheck) {
			return nil, holder, Silent(home, holder, lasted)
		}
		if err := bus.Pause(ctx, queuePause); err != nil {
			return nil, 0, err
		}
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, 0, ErrHostGone
	}
	if err != nil {
		return nil, 0, fmt.Errorf("attach to host: %w", err)
	}
	if pid, err = peer(conn); err != nil {
		foreign := tool.Errorf(tool.CodePermissionDenied, "the host is not trusted: %w", err).
			Next(advice.Command("ls -la "+tool.ShellWord(filepath.Dir(Path(home))), "shows whose the socket is; choose another --home, or run freshet as that user"))
		return nil, pid, errors.Join(foreign, conn.Close())
	}
	return conn, pid, nil
}

// queuePause is the time between tries to get into a host's queue.
const queuePause = 100 * time.Millisecond

// listener reads what a host says, and gives up on one that is silent.
type listener struct {
	conn   net.Conn
	reader *bufio.Reader
	home   string
	pid    int
	frame  []byte // what was read of a message whose end is still to come
}

// next returns the next message. Silence is counted in reads that timed out, not by the
// clock, so that a client that was suspended itself looks once more when it goes on.
func (l *listener) next() ([]byte, error) {
	for silences := 0; ; silences++ {
		if err := l.conn.SetReadDeadline(time.Now().Add(SilenceCheck)); err != nil {
			return nil, err
		}
		frame, err := readFrame(l.reader, l.frame)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			l.frame = nil
			return frame, err
		}
		if len(frame) > len(l.frame) {
			silences = 0 // a long message is on its way
		}
		l.frame = frame
		if lasted := time.Duration(silences+1) * SilenceCheck; Suspended(l.pid) || silences+1 >= maxSilences {
			return nil, Silent(l.home, l.pid, lasted)
		}
	}
}

// Call makes one call on a data directory's socket.
func Call(ctx context.Context, home, version, verb string, params json.RawMessage, observe tool.Observer) (*tool.Envelope, error) {
	conn, pid, err := dial(ctx, home)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // the host sees the hang-up and cancels
	defer func() {
		stop()
		_ = conn.Close() // nothing is left to be written
	}()
	err = json.NewEncoder(conn).Encode(request{Protocol: Protocol, Version: version, Verb: verb, Params: params})
	if err != nil {
		return nil, gone(ctx, err)
	}
	host := &listener{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10), home: home, pid: pid}
	for {
		frame, err := host.next()
		if err != nil {
			return nil, gone(ctx, err)
		}
		var r reply
		if err := json.Unmarshal(frame, &r); err != nil {
			return nil, fmt.Errorf("read reply: %w", err)
		}
		switch {
		case r.Alive:
		case r.Notice != nil:
			if err := observe(*r.Notice); err != nil {
				return nil, err
			}
		case r.Takeover:
			return nil, ErrHostGone
		case r.Refused != "":
			refused := tool.Errorf(tool.CodeStoreUnavailable, "%w: %s", ErrRefused, r.Refused).
				Next(advice.Command("freshet version", "shows the version of this binary"))
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
	var known *tool.Error
	if errors.Is(err, errFrameTooLarge) || errors.As(err, &known) {
		return err
	}
	return ErrHostGone
}
