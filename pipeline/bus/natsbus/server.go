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

// maxPayload is what the embedded server takes of one message, headers included.
const maxPayload = 1 << 20

// embedded is a server inside this process.
type embedded struct {
	srv   *server.Server
	notes *notes
}

// startServer starts a server over dir that listens on nothing. It makes sure that the
// server syncs every write, unless told otherwise.
func startServer(o Options, onComplaint func()) (*embedded, error) {
	if err := dropSummaries(o.Dir); err != nil {
		return nil, err
	}
	switch dropped, err := dropDamagedConsumers(o.Dir); {
	case err != nil:
		return nil, err
	case dropped > 0:
		o.Log.Warn("consumers with a damaged state begin again with the oldest message", "consumers", dropped)
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
	e := &embedded{srv: srv, notes: &notes{log: o.Log, onComplaint: onComplaint}}
	srv.SetLoggerV2(e.notes, false, false, false)
	srv.Start()
	if e.notes.failed() || !srv.ReadyForConnections(startWait) || !srv.JetStreamEnabled() {
		defer e.stop()
		return nil, fmt.Errorf("server does not start: %s", e.notes.text())
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

// dropSummaries removes the server's summaries of its streams, so that it reads the
// messages themselves, with their checksums: a summary hides what is missing.
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

// streamsDir is where the server keeps the streams of its only account.
func streamsDir(dir string) string {
	return filepath.Join(dir, server.JetStreamStoreDir, "$G", "streams")
}

// escape makes a path match itself in a pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// notes hands the server's log on, and keeps its last complaints for an error message.
type notes struct {
	log         *slog.Logger
	onComplaint func()

	mu    sync.Mutex // guards all below
	last  []string
	fatal bool
}

var _ server.Logger = (*notes)(nil)

func (n *notes) complain(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	n.mu.Lock()
	n.last = append(n.last, text)
	n.last = n.last[max(0, len(n.last)-3):]
	n.mu.Unlock()
	n.log.Warn("event log server reported", "message", text)
	n.onComplaint()
}

func (n *notes) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.last) == 0 {
		return "no reason given"
	}
	return strings.Join(n.last, "; ")
}

// failed tells whether the server gave up.
func (n *notes) failed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.fatal
}

func (n *notes) Fatalf(format string, v ...any) {
	n.complain(format, v...)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fatal = true
}
func (n *notes) Errorf(format string, v ...any) { n.complain(format, v...) }
func (n *notes) Warnf(format string, v ...any)  { n.complain(format, v...) }
func (n *notes) Noticef(format string, v ...any) {
	n.log.Debug("event log server reported", "message", fmt.Sprintf(format, v...))
}
func (n *notes) Debugf(string, ...any) {}
func (n *notes) Tracef(string, ...any) {}
