package natsbus_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/pipeline/bus/natsserver"
)

// disguise stands before a server. While it is old the server says of itself that it is of a
// version which loses messages.
type disguise struct {
	listener net.Listener
	server   string
	old      atomic.Bool
	group    sync.WaitGroup

	mu    sync.Mutex // guards conns
	conns []net.Conn
}

// newDisguise starts a server that tells its clients of no other way to it.
func newDisguise(t *testing.T) *disguise {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	srv, err := natsserver.Start(natsserver.Options{
		Name: "old", Dir: t.TempDir(), Advertise: listener.Addr().String(), RelaxedSync: true,
	})
	must(t, err)
	t.Cleanup(func() { must(t, srv.Close()) })
	d := &disguise{listener: listener, server: strings.TrimPrefix(srv.URL(), "nats://")}
	d.group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			d.group.Go(func() { d.relay(client) })
		}
	})
	t.Cleanup(func() {
		must(t, listener.Close())
		d.cut()
		d.group.Wait()
	})
	return d
}

func (d *disguise) url() string { return "nats://" + d.listener.Addr().String() }

// relay passes everything on, but for the version in what the server says of itself, which it
// may say more than once.
func (d *disguise) relay(client net.Conn) {
	srv, err := net.Dial("tcp", d.server)
	if err != nil {
		_ = client.Close()
		return
	}
	d.mu.Lock()
	d.conns = append(d.conns, client, srv)
	d.mu.Unlock()
	d.group.Go(func() {
		_, _ = io.Copy(srv, client)
		_ = srv.Close()
	})
	defer func() { _ = client.Close() }()
	old := d.old.Load()
	for said := make([]byte, 16<<10); ; {
		n, err := srv.Read(said)
		passed := said[:n]
		if old {
			passed = bytes.ReplaceAll(passed, []byte(`"version":"`+server.VERSION+`"`), []byte(`"version":"2.10.1"`))
		}
		if _, wrong := client.Write(passed); err != nil || wrong != nil {
			return
		}
	}
}

// cut ends every connection.
func (d *disguise) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		_ = c.Close()
	}
	d.conns = nil
}

// TestOlderServerIsRefusedLater: a connection that is made again to a server which loses
// messages is not used, and says why, until it leads to a newer one.
func TestOlderServerIsRefusedLater(t *testing.T) {
	t.Parallel()
	d := newDisguise(t)
	var log lines
	b, err := natsbus.Open(t.Context(), natsbus.Options{URL: d.url(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	publish := func(id string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		_, err := b.Publish(ctx, []bus.Message{{Codebase: "a", Lane: bus.LaneSync, ID: id, Data: []byte(id)}}, nil)
		return err
	}
	ping := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return b.Ping(ctx)
	}
	must(t, publish("before"))
	const reason = "2.10.1 loses acknowledged messages"
	refused := func(err error) bool { return err != nil && strings.Contains(err.Error(), reason) }

	d.old.Store(true)
	d.cut()
	await(t, "the older server to be noticed", func() bool { return refused(ping()) })
	if err := publish("meanwhile"); !refused(err) {
		t.Errorf("publish: %v", err)
	}
	if err := b.DropDeadLetter(t.Context(), 1); !refused(err) {
		t.Errorf("drop a dead letter: %v", err)
	}
	if _, err := b.State(t.Context()); !refused(err) {
		t.Errorf("state: %v", err)
	}
	if text := log.text(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, reason) {
		t.Errorf("logged:\n%s", text)
	}
	d.old.Store(false)
	d.cut()
	await(t, "the newer server to be used", func() bool { return ping() == nil })
	must(t, publish("after"))
	var ids []string
	must(t, b.Read(t.Context(), 1, 0, func(m bus.Stored) error { ids = append(ids, m.ID); return nil }))
	if got := strings.Join(ids, " "); got != "before after" {
		t.Errorf("the log holds %s", got)
	}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// lines keeps what is logged.
type lines struct {
	mu  sync.Mutex // guards all
	all strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(line)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
