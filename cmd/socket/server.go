package socket

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/freshet/freshet/mcp/tool"
)

// Dispatcher answers one call; the notices go to the observer.
type Dispatcher func(ctx context.Context, verb string, params json.RawMessage, observe tool.Observer) *tool.Envelope

// Server takes calls on the host's socket, which only the user may open.
type Server struct {
	home     string
	dispatch Dispatcher
	version  string
	log      *slog.Logger

	calls    sync.WaitGroup
	mu       sync.Mutex // guards what follows
	listener *net.UnixListener
	file     os.FileInfo // of the socket
	closing  bool
}

// farewell bounds how long a host that ends waits for a client to take its answer.
const farewell = time.Second

// requestTimeout bounds how long a client may take to say what it wants.
const requestTimeout = 10 * time.Second

// Listen makes the socket of a data directory, removing one that a dead host left: the caller
// holds the lock.
func Listen(ctx context.Context, home, version string, dispatch Dispatcher, log *slog.Logger) (*Server, error) {
	s := &Server{home: home, dispatch: dispatch, version: version, log: log}
	var err error
	s.listener, s.file, err = open(ctx, home)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// open makes the socket of a data directory in the place of one that is there.
func open(ctx context.Context, home string) (*net.UnixListener, os.FileInfo, error) {
	if err := ensurePath(home); err != nil {
		return nil, nil, err
	}
	path := Path(home)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("remove stale socket: %w", err)
	}
	var config net.ListenConfig
	made, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on socket: %w", err)
	}
	listener, ok := made.(*net.UnixListener)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("%T listens on no socket", made), made.Close())
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("restrict socket: %w", err), listener.Close())
	}
	file, err := os.Lstat(path)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("look at the socket: %w", err), listener.Close())
	}
	return listener, file, nil
}

// Restore makes the socket again when it was removed or replaced, and reports whether it was.
// Calls in flight go on. The caller holds the lock.
func (s *Server) Restore(ctx context.Context) (restored bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there, err := os.Lstat(Path(s.home)); s.closing || err == nil && os.SameFile(s.file, there) {
		return false, nil
	}
	listener, file, err := open(ctx, s.home)
	if err != nil {
		return false, err
	}
	old := s.listener
	s.listener, s.file = listener, file
	old.SetUnlinkOnClose(false) // the name is the other's now
	return true, old.Close()
}

// Serve takes calls until Close, and returns when every call has ended.
func (s *Server) Serve(ctx context.Context) error {
	defer s.calls.Wait()
	for {
		listener := s.listening()
		conn, err := listener.Accept()
		if err != nil {
			if s.ending() || ctx.Err() != nil {
				return nil
			}
			if s.listening() != listener {
				continue
			}
			return fmt.Errorf("accept: %w", err)
		}
		s.calls.Go(func() { s.handle(ctx, conn) })
	}
}

func (s *Server) listening() *net.UnixListener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listener
}

// Close stops taking calls. Those in flight go on.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	return s.listener.Close()
}

// Wait returns when every call that was taken has ended.
func (s *Server) Wait() { s.calls.Wait() }

func (s *Server) ending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *Server) handle(ctx context.Context, conn net.Conn) {
	defer func() {
		if err := conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			s.log.Debug("connection not closed", "error", err)
		}
	}()
	if _, err := peer(conn); err != nil {
		s.log.Warn("a connection was refused", "error", err)
		return
	}
	w := &replyWriter{encoder: json.NewEncoder(conn)}
	// A client that is suspended takes no answer; it must not keep the host from ending.
	defer context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Now().Add(farewell)) })()
	send := func(r reply) {
		if err := w.send(r); err != nil {
			s.log.Debug("reply not sent, the client is gone", "error", err)
		}
	}
	req, err := readRequest(conn)
	if err != nil {
		s.log.Debug("request cannot be read", "error", err)
		return
	}
	if req.Protocol != Protocol {
		send(reply{Refused: fmt.Sprintf("the host is freshet %s (protocol %d), this is %s (protocol %d); use the same version, or end the host",
			s.version, Protocol, req.Version, req.Protocol)})
		return
	}
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := make(chan struct{})
	go func() { // ends when the client hangs up, or when the connection is closed below
		defer close(gone)
		_, err := conn.Read(make([]byte, 1))
		if err != nil {
			cancel()
		}
	}()
	quiet := w.keepAlive()
	envelope := s.dispatch(callCtx, req.Verb, req.Params, func(n tool.Notice) error {
		return w.send(reply{Notice: &n})
	})
	quiet()
	if ctx.Err() != nil || envelope == nil {
		send(reply{Takeover: true})
	} else {
		send(reply{Envelope: envelope})
	}
	if err := conn.Close(); err != nil {
		s.log.Debug("connection not closed", "error", err)
	}
	<-gone
}

func readRequest(conn net.Conn) (request, error) {
	var req request
	if err := conn.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil {
		return req, err
	}
	line, err := readFrame(bufio.NewReader(conn), nil)
	if err != nil {
		return req, err
	}
	if err := json.Unmarshal(line, &req); err != nil {
		return req, err
	}
	return req, conn.SetReadDeadline(time.Time{})
}

// replyWriter writes replies from one or more goroutines.
type replyWriter struct {
	mu      sync.Mutex
	encoder *json.Encoder
}

func (w *replyWriter) send(r reply) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.encoder.Encode(r)
}

// keepAlive sends signs of life until the returned function is called, which waits for the
// last of them. A client that is gone is noticed by the call.
func (w *replyWriter) keepAlive() (stop func()) {
	ended, silent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(silent)
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				if w.send(reply{Alive: true}) != nil {
					return
				}
			}
		}
	}()
	return func() {
		close(ended)
		<-silent
	}
}

var errFrameTooLarge = errors.New("message is too large")

// readFrame reads one line of at most maxFrame bytes, of which the beginning was read before.
// After an error it returns what it has of the line.
func readFrame(r *bufio.Reader, frame []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		frame = append(frame, part...)
		if len(frame) > maxFrame {
			return nil, errFrameTooLarge
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) && len(frame) > 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return frame, err
		}
	}
}
