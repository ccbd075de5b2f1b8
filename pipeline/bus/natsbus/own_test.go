package natsbus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

func openOwn(t *testing.T, dir string) *Bus {
	t.Helper()
	b, err := Open(t.Context(), Options{Dir: dir, RelaxedSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func publishOwn(t *testing.T, b *Bus, id store.CodebaseID, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		_, err := b.Publish(t.Context(), []bus.Message{{
			Codebase: id, Lane: bus.LaneSync, ID: fmt.Sprintf("%s/%d", id, n), Data: []byte("x"),
		}}, nil)
		must(t, err)
	}
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	select {
	case v := <-from:
		return v
	case <-timer.C:
		t.Fatal("waited too long")
		panic("unreachable")
	}
}

// TestOpenRefusesForeignStreams: a stream with other settings is refused by name, one of
// ours with older settings is brought up to date.
func TestOpenRefusesForeignStreams(t *testing.T) {
	t.Parallel()
	ours := func(c *jetstream.StreamConfig) {
		c.Metadata = map[string]string{keySettings: "1", keyIncarnation: "before"}
	}
	for _, c := range []struct {
		name   string
		change func(*jetstream.StreamConfig)
		want   string // in the error; "" means accepted
	}{
		{"nobody's", func(c *jetstream.StreamConfig) { c.Metadata = nil }, "not made by freshet"},
		{"discard old", func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "discard"},
		{"in memory", func(c *jetstream.StreamConfig) { c.Storage, c.MaxBytes = jetstream.MemoryStorage, 1<<20 }, "storage"},
		{"work queue", func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, "retention"},
		{"not atomic", func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, "atomic publish"},
		{"an age", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "max age"},
		{"few messages", func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 }, "max messages"},
		{"one a subject", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, "max messages"},
		{"short memory", func(c *jetstream.StreamConfig) { c.Duplicates = time.Second }, "duplicate window"},
		{"other subjects", func(c *jetstream.StreamConfig) { c.Subjects = []string{"freshet.default.>"} }, "subjects"},
		{"no purging", func(c *jetstream.StreamConfig) { c.DenyPurge = true }, "deletion"},
		{"newer", func(c *jetstream.StreamConfig) { c.Metadata[keySettings] = "2" }, "upgrade"},
		{"older", func(c *jetstream.StreamConfig) {
			c.Metadata[keySettings] = "0"
			c.Duplicates, c.AllowAtomicPublish = time.Minute, false
		}, ""},
		{"older and beyond change", func(c *jetstream.StreamConfig) {
			c.Metadata[keySettings] = "0"
			c.Storage, c.MaxBytes = jetstream.MemoryStorage, 1<<20
		}, "cannot be given"},
		{"smaller", func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := openOwn(t, t.TempDir())
			config := b.wantedLog()
			must(t, b.js.DeleteStream(t.Context(), config.Name))
			ours(&config)
			c.change(&config)
			_, err := b.js.CreateStream(t.Context(), config)
			must(t, err)
			stream, err := b.ensure(t.Context(), b.wantedLog())
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), config.Name) {
					t.Fatalf("accepted with %v, want an error that names %s and %q", err, config.Name, c.want)
				}
				if _, err := b.js.Stream(t.Context(), config.Name); err != nil {
					t.Errorf("the stream was taken away: %v", err)
				}
				return
			}
			must(t, err)
			got := stream.CachedInfo().Config
			if differ := difference(got, b.wantedLog()); len(differ) > 0 || got.MaxBytes != 1<<30 {
				t.Errorf("it still differs in %v, %d bytes", differ, got.MaxBytes)
			}
			if got.Metadata[keyIncarnation] != "before" || got.Metadata[keySettings] != "1" {
				t.Errorf("metadata became %v", got.Metadata)
			}
		})
	}
}

// TestServerSyncsAndListensOnNothing reads both back.
func TestServerSyncsAndListensOnNothing(t *testing.T) {
	t.Parallel()
	b, err := Open(t.Context(), Options{Dir: t.TempDir()})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	if !b.embedded.srv.JetStreamConfig().SyncAlways {
		t.Error("writes are not synced")
	}
	if a := b.embedded.srv.Addr(); a != nil {
		t.Errorf("listens on %s", a)
	}
	if a := b.embedded.srv.MonitorAddr(); a != nil {
		t.Errorf("monitor listens on %s", a)
	}
	for _, name := range []string{"tcp", "tcp6", "unix"} {
		for _, inode := range listening(t, name) {
			if ours(t, inode) {
				t.Errorf("this process listens on a %s socket", name)
			}
		}
	}
}

// listening gives the inodes of the sockets that listen.
func listening(t *testing.T, family string) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/net/" + family)
	if err != nil {
		t.Skipf("no socket table: %v", err)
	}
	var inodes []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		switch {
		case family == "unix" && len(fields) > 6 && fields[3] == "00010000":
			inodes = append(inodes, fields[6])
		case family != "unix" && len(fields) > 9 && fields[3] == "0A":
			inodes = append(inodes, fields[9])
		}
	}
	return inodes
}

func ours(t *testing.T, inode string) bool {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}

// TestVanishedConsumerIsMadeAgain deletes a consumer, and then the stream, under a running
// Consume.
func TestVanishedConsumerIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := openOwn(t, t.TempDir())
	got := make(chan bus.Delivery, 64)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- b.Consume(ctx, bus.Consumer{Name: "w", Lanes: []bus.Lane{bus.LaneSync}, Workers: 2}, func(_ context.Context, d bus.Delivery) error {
			got <- d
			return nil
		})
	}()
	publishOwn(t, b, "a", 1, 1)
	receive(t, got)
	must(t, b.current().stream.DeleteConsumer(t.Context(), durableName("w", b.current().id)))
	publishOwn(t, b, "a", 2, 2)
	seen := map[string]bool{}
	for !seen["a/2"] {
		seen[receive(t, got).ID] = true // a/1 may come again: the consumer is a new one
	}
	must(t, b.js.DeleteStream(t.Context(), b.wantedLog().Name))
	state, err := b.State(t.Context())
	must(t, err)
	if state.Incarnation != "" {
		t.Errorf("a log that is gone has a state: %+v", state)
	}
	_, err = b.Reset(t.Context())
	must(t, err)
	publishOwn(t, b, "a", 3, 3)
	for d := receive(t, got); d.ID != "a/3"; d = receive(t, got) {
	}
	cancel()
	must(t, receive(t, done))
}

// TestLostDeliveryIsNotAcknowledged: a handler that was silent for longer than AckWait,
// because its process stood still, has its context ended and its success does not count.
func TestLostDeliveryIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	f := &flight{ackWait: 3 * time.Second, lose: func(cause error) { lost.Store(errors.Is(cause, errLost)) }}
	f.beat = time.Now()
	if !f.held() || lost.Load() {
		t.Fatal("a fresh delivery is not held")
	}
	f.beat = time.Now().Add(-2600 * time.Millisecond)
	if !f.held() {
		t.Error("a delivery is lost within AckWait")
	}
	f.beat = time.Now().Add(-2900 * time.Millisecond)
	if f.held() || !lost.Load() {
		t.Error("a delivery is held at the end of AckWait")
	}
	f.beat = time.Now()
	if f.held() {
		t.Error("what was lost is held again")
	}
	// A machine that slept: only the clock on the wall has moved.
	slept := &flight{ackWait: 3 * time.Second, lose: func(error) {}, beat: time.Now().Round(0).Add(-time.Hour)}
	if slept.held() {
		t.Error("a delivery is held after a sleep")
	}
	b := openOwn(t, t.TempDir())
	publishOwn(t, b, "a", 1, 1)
	got := make(chan bus.Delivery, 8)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	c := bus.Consumer{Name: "w", Lanes: []bus.Lane{bus.LaneSync}, AckWait: 300 * time.Millisecond}
	consumer, err := b.current().stream.CreateOrUpdateConsumer(t.Context(), b.durableConfig(b.current(), c))
	must(t, err)
	batch, err := consumer.Fetch(1)
	must(t, err)
	stale := receive(t, batch.Messages())
	go func() {
		done <- b.Consume(ctx, c, func(_ context.Context, d bus.Delivery) error {
			got <- d
			return nil
		})
	}()
	// The first holder says nothing: the message goes to another.
	if d := receive(t, got); d.Tries != 2 {
		t.Errorf("try %d, want 2", d.Tries)
	}
	old := &flight{msg: stale, ackWait: c.AckWait, lose: func(error) {}, beat: time.Now().Add(-time.Second)}
	b.settle(t.Context(), old, c, bus.Delivery{}, nil)
	if err := stale.Nak(); err != nil {
		t.Errorf("the stale delivery was settled: %v", err)
	}
	cancel()
	must(t, receive(t, done))
}

// TestPurgeThatWasCutOffIsFinished stops a purge at each of its steps.
func TestPurgeThatWasCutOffIsFinished(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		stop func(t *testing.T, b *Bus)
	}{
		{"before it took anything", func(*testing.T, *Bus) {}},
		{"before it was counted", func(t *testing.T, b *Bus) {
			must(t, b.current().stream.Purge(t.Context(), jetstream.WithPurgeSubject(b.subject("a", "*")), jetstream.WithPurgeSequence(4)))
		}},
		{"halfway", func(t *testing.T, b *Bus) {
			must(t, b.current().stream.DeleteMsg(t.Context(), 2))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := openOwn(t, dir)
			publishOwn(t, b, "a", 1, 5)
			publishOwn(t, b, "b", 1, 5)
			must(t, b.Purge(t.Context(), "b", 8))
			info, err := b.current().stream.Info(t.Context())
			must(t, err)
			must(t, b.annotate(t.Context(), info.Config, map[string]string{keyPurging: intent{"a", 4, 5}.String()}))
			c.stop(t, b)
			state, err := b.State(t.Context())
			must(t, err)
			if state.Gap {
				t.Errorf("a purge under way is a gap: %+v", state)
			}
			must(t, b.Close())
			again := openOwn(t, dir)
			state, err = again.State(t.Context())
			must(t, err)
			if state.Gap || state.Messages != 5 || state.Last != 10 {
				t.Errorf("after reopening: %+v", state)
			}
			must(t, again.current().stream.DeleteMsg(t.Context(), 5))
			state, err = again.State(t.Context())
			must(t, err)
			if !state.Gap {
				t.Errorf("a message is missing that nobody purged: %+v", state)
			}
		})
	}
}

func TestDamagedDirectoriesAreKeptTwice(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "lo*g[")
	for range 4 {
		b := openOwn(t, dir)
		must(t, b.Close())
		must(t, os.WriteFile(filepath.Join(streamsDir(dir), b.wantedLog().Name, "meta.inf"), []byte("x"), 0o600))
		again := openOwn(t, dir)
		report := again.Report()
		if !report.Recreated || !strings.Contains(report.Reason, b.wantedLog().Name) {
			t.Errorf("report %+v", report)
		}
		if _, err := os.Stat(report.MovedTo); err != nil {
			t.Errorf("the damaged log is not kept: %v", err)
		}
		must(t, again.Close())
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	must(t, err)
	if len(entries) != 3 {
		t.Errorf("kept %v, want the log and 2 damaged ones", entries)
	}
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"2.14.5": false, "2.14.8": false, "2.14.9": true, "2.15.0": false, "2.15.1": false, "2.15.2": true,
		"2.15.10": true, "2.16.0": true, "3.0.0": true, "2.9.25": false, "1.4.1": false, "": false,
		"2.15.2-beta": true,
	} {
		if err := checkVersion(version); (err == nil) != want {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

func TestOptionsRefuse(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no place":       {},
		"two places":     {Dir: "a", URL: "nats://127.0.0.1"},
		"tenant with .":  {Dir: "a", Tenant: "a.b"},
		"tenant with *":  {Dir: "a", Tenant: "*"},
		"tenant in caps": {Dir: "a", Tenant: "A"},
	} {
		if _, err := Open(t.Context(), o); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}
