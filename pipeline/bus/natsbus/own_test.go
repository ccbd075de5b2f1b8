package natsbus

import (
	"context"
	"errors"
	"fmt"
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
	timer := time.NewTimer(5 * time.Minute)
	defer timer.Stop()
	select {
	case v := <-from:
		return v
	case <-timer.C:
		t.Fatal("waited too long")
		panic("unreachable")
	}
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
	f := &activeDelivery{ackWait: 30 * time.Hour, cancel: func(cause error) { lost.Store(errors.Is(cause, errLost)) }}
	f.heartbeat = time.Now()
	if !f.owned() || lost.Load() {
		t.Fatal("a fresh delivery is not held")
	}
	f.heartbeat = time.Now().Add(-26 * time.Hour)
	if !f.owned() {
		t.Error("a delivery is lost within AckWait")
	}
	f.heartbeat = time.Now().Add(-29 * time.Hour)
	if f.owned() || !lost.Load() {
		t.Error("a delivery is held at the end of AckWait")
	}
	f.heartbeat = time.Now()
	if f.owned() {
		t.Error("what was lost is held again")
	}
	// A machine that slept: only the clock on the wall has moved.
	slept := &activeDelivery{ackWait: 3 * time.Second, cancel: func(error) {}, heartbeat: time.Now().Round(0).Add(-time.Hour)}
	if slept.owned() {
		t.Error("a delivery is held after a sleep")
	}
	b := openOwn(t, t.TempDir())
	publishOwn(t, b, "a", 1, 1)
	got := make(chan bus.Delivery, 8)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	c := bus.Consumer{Name: "w", Lanes: []bus.Lane{bus.LaneSync}, AckWait: 3 * time.Second}
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
	if d := receive(t, got); d.Tries < 2 {
		t.Errorf("try %d, want a later one than the first", d.Tries)
	}
	old := &activeDelivery{msg: stale, ackWait: c.AckWait, cancel: func(error) {}, heartbeat: time.Now().Add(-c.AckWait)}
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
			_, err := b.recordIntent(t.Context(), "a", 4)
			must(t, err)
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

// TestIllegibleLetterIsListedAndDropped: it is never published again as something else.
func TestIllegibleLetterIsListedAndDropped(t *testing.T) {
	t.Parallel()
	b := openOwn(t, t.TempDir())
	_, err := b.js.Publish(t.Context(), "freshet-dead.default.w", []byte("by another hand"))
	must(t, err)
	letters, err := b.DeadLetters(t.Context())
	must(t, err)
	if len(letters) != 1 || !strings.Contains(letters[0].Reason, "illegible") || string(letters[0].Data) != "by another hand" {
		t.Fatalf("letters %+v", letters)
	}
	if err := b.RetryDeadLetter(t.Context(), letters[0].Letter); err == nil {
		t.Error("it was retried")
	}
	must(t, b.DropDeadLetter(t.Context(), letters[0].Letter))
	state, err := b.State(t.Context())
	must(t, err)
	if letters, err = b.DeadLetters(t.Context()); err != nil || len(letters) != 0 || state.Last != 0 {
		t.Errorf("left: %v, %v, state %+v", letters, err, state)
	}
}

// TestReadingLeavesNothingBehind counts the consumers of the log after reading it.
func TestReadingLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	b := openOwn(t, t.TempDir())
	publishOwn(t, b, "a", 1, 3)
	enough := errors.New("enough")
	for range 5 {
		must(t, b.Read(t.Context(), 1, 0, func(bus.Stored) error { return nil }))
		if err := b.Follow(t.Context(), 1, func(bus.Stored) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("follow: %v", err)
		}
	}
	info, err := b.current().stream.Info(t.Context())
	must(t, err)
	if info.State.Consumers != 0 {
		t.Errorf("%d consumers are left", info.State.Consumers)
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
