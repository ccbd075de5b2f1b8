package outbox_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/outbox"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/sync/merkle"
)

func committed(t *testing.T, s store.Store, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		data, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		err = s.PutOutbox(t.Context(), []store.OutboxEvent{{Codebase: e.Codebase, Snapshot: e.Snapshot, Part: e.Part, Data: data}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func events() []event.Event {
	base := event.Event{Codebase: "ca", Snapshot: 1, Fingerprint: "f", At: time.Unix(9, 0)}
	return append(event.Opening(base, event.Opened{Rebuild: true}, []event.File{{Path: "a", Content: merkle.Hash{1}, Size: 1}}, nil),
		event.SealedAt(base, event.Sealed{Level: "full"}))
}

// full is a log that refuses messages until it is emptied.
type full struct {
	bus.Bus
	mu      sync.Mutex // guards refusals
	refuse  int
	refused int
	// refusing is called at each refusal.
	refusing func()
}

func (f *full) Publish(ctx context.Context, messages []bus.Message, guard *uint64) (uint64, error) {
	f.mu.Lock()
	refuse := f.refuse > 0
	if refuse {
		f.refuse--
		f.refused++
	}
	f.mu.Unlock()
	if refuse {
		f.refusing()
		return 0, bus.ErrFull
	}
	return f.Bus.Publish(ctx, messages, guard)
}

func TestFlush(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	log := &full{Bus: membus.New(), refuse: 3}
	t.Cleanup(func() {
		if err := errors.Join(log.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	all := events()
	committed(t, s, all...)
	pump := outbox.New(s, log, nil)
	log.refusing = func() {
		if since, cause, waits := pump.Waiting(); !waits || time.Since(since) > time.Minute || log.refused > 1 && !errors.Is(cause, bus.ErrFull) {
			t.Errorf("while the log is full: waiting %t since %v for %v", waits, since, cause)
		}
	}
	for range 2 { // a second flush has nothing to do
		if err := pump.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err := log.Read(t.Context(), 1, 0, func(m bus.Stored) error {
		got = append(got, m.ID)
		return nil
	})
	if err != nil || len(got) != len(all) {
		t.Fatalf("%d messages (%v), want %d, each once", len(got), err, len(all))
	}
	for i, e := range all {
		if got[i] != e.ID() {
			t.Errorf("message %d is %s, want %s", i, got[i], e.ID())
		}
	}
	if _, _, waits := pump.Waiting(); waits {
		t.Error("what was published waits still")
	}
	if log.refused != 3 {
		t.Errorf("a full log refused %d times, want 3: the publisher pauses and tries again", log.refused)
	}
	position, err := s.LogPosition(t.Context())
	if err != nil || position.Sequence != uint64(len(all)) || position.Incarnation == "" {
		t.Errorf("log position %+v (%v), want sequence %d", position, err, len(all))
	}
}

// A crash between publishing and marking publishes again, and the log has each event once.
func TestFlushAfterCrash(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	log := membus.New()
	t.Cleanup(func() {
		if err := errors.Join(log.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	committed(t, s, events()...)
	if err := outbox.New(unmarking{s}, log, nil).Flush(t.Context()); err == nil {
		t.Fatal("marking failed and Flush did not say so")
	}
	if err := outbox.New(s, log, nil).Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := log.State(t.Context())
	if err != nil || state.Messages != uint64(len(events())) {
		t.Errorf("%d messages (%v), want %d", state.Messages, err, len(events()))
	}
}

type unmarking struct{ store.Store }

func (unmarking) MarkPublished(context.Context, []store.OutboxEvent, store.LogPosition) error {
	return errors.New("killed")
}
