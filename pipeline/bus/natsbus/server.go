package natsbus

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startWait bounds how long the embedded server may take to read its files.
const startWait = 2 * time.Minute

// maxPayload bounds a message in bytes, headers included.
const maxPayload = 1 << 20

// embedded is a server inside this process.
type embedded struct {
	srv *server.Server
	log *serverLog
}

// startServer starts a server over o.Dir that listens on no port. It verifies that the server
// syncs every write, unless o.RelaxedSync. onComplaint is called for each warning and error
// that the server logs.
func startServer(o Options, onComplaint func()) (*embedded, error) {
	if err := dropSummaries(o.Dir); err != nil {
		return nil, err
	}
	switch dropped, err := dropDamagedConsumers(o.Dir); {
	case err != nil:
		return nil, err
	case dropped > 0:
		o.Log.Warn("consumers with a damaged state restart from the oldest message", "consumers", dropped)
	}
	srv, err := server.NewServer(&server.Options{
		ServerName:             "freshet",
		JetStream:              true,
		StoreDir:               o.Dir,
		SyncAlways:             !o.RelaxedSync,
		DontListen:             true,
		NoSigs:                 true,
		NoLog:                  true,
		DisableJetStreamBanner: true,
		MaxPayload:             maxPayload,
		JetStreamMaxMemory:     64 << 20,
		JetStreamMaxStore:      2*o.MaxBytes + deadBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	e := &embedded{srv: srv, log: &serverLog{log: o.Log, onComplaint: onComplaint}}
	srv.SetLoggerV2(e.log, false, false, false)
	srv.Start()
	if e.log.failed() || !srv.ReadyForConnections(startWait) || !srv.JetStreamEnabled() {
		defer e.stop()
		return nil, fmt.Errorf("server does not start: %s", e.log.text())
	}
	if c := srv.JetStreamConfig(); c == nil || c.SyncAlways == o.RelaxedSync {
		defer e.stop()
		return nil, errors.New("server does not sync as it was told to")
	}
	return e, nil
}

func (e *embedded) stop() {
	e.srv.Shutdown()
	e.srv.WaitForShutdown()
}

func (e *embedded) connect(options ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append(options, nats.InProcessServer(e.srv))...)
}

// dropSummaries removes the server's index files of its streams, so that it reads the
// messages themselves, with their checksums: the index hides missing messages.
func dropSummaries(dir string) error {
	names, err := filepath.Glob(filepath.Join(escape(streamsDir(dir)), "*", "msgs", "index.db"))
	if err != nil {
		return fmt.Errorf("list summaries: %w", err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove summary: %w", err)
		}
	}
	return nil
}

// serverLog forwards the server's log and keeps its last three warnings and errors for an
// error message.
type serverLog struct {
	log         *slog.Logger
	onComplaint func()

	mu    sync.Mutex // guards all below
	last  []string
	fatal bool
}

var _ server.Logger = (*serverLog)(nil)

func (n *serverLog) warn(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	n.mu.Lock()
	n.last = append(n.last, text)
	n.last = n.last[max(0, len(n.last)-3):]
	n.mu.Unlock()
	n.log.Warn("event log server reported", "message", text)
	n.onComplaint()
}

func (n *serverLog) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.last) == 0 {
		return "no reason given"
	}
	return strings.Join(n.last, "; ")
}

// failed reports whether the server logged a fatal error.
func (n *serverLog) failed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.fatal
}

func (n *serverLog) Fatalf(format string, v ...any) {
	n.warn(format, v...)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fatal = true
}
func (n *serverLog) Errorf(format string, v ...any) { n.warn(format, v...) }
func (n *serverLog) Warnf(format string, v ...any)  { n.warn(format, v...) }
func (n *serverLog) Noticef(format string, v ...any) {
	n.log.Debug("event log server reported", "message", fmt.Sprintf(format, v...))
}
func (n *serverLog) Debugf(string, ...any) {}
func (n *serverLog) Tracef(string, ...any) {}
