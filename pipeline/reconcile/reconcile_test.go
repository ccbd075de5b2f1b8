package reconcile_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/outbox"
	"github.com/freshet/freshet/pipeline/reconcile"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/sync/merkle"
)

// TestHealKeepsAWholeLog: the store knows the position of what passed its outbox. What stages
// published after it, and what the outbox still holds, are no sign of an older store; an
// event of the outbox that the store does not know is.
func TestHealKeepsAWholeLog(t *testing.T) {
	t.Parallel()
	base := event.Event{Codebase: "ca", Snapshot: 1, Fingerprint: "f", At: time.Unix(9, 0)}
	opening := event.Opening(base, event.Opened{Rebuild: true}, []event.File{{Path: "a", Content: merkle.Hash{1}, Size: 1}}, nil)
	changed := opening[len(opening)-1]
	sealed := event.SealedAt(base, event.Sealed{Level: "full"})
	for name, test := range map[string]struct {
		published, waiting []event.Event // after the position that the store knows
		want               string
	}{
		"nothing":                   {nil, nil, ""},
		"of stages":                 {[]event.Event{event.Chunked(changed, changed.Changed.Files, base.At), event.Embedded(changed, changed.Changed.Files, base.At)}, nil, ""},
		"published and not marked":  {[]event.Event{sealed}, []event.Event{sealed}, ""},
		"of a later life":           {[]event.Event{sealed}, nil, "store_older"},
		"of a later life, by types": {[]event.Event{event.Chunked(changed, changed.Changed.Files, base.At), sealed}, nil, "store_older"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, log := memstore.New(memstore.Options{}), membus.New()
			pump := outbox.New(s, log, slog.New(slog.DiscardHandler))
			r := reconcile.New(s, log, pump, nil, reconcile.Options{Consumers: func() []string { return nil }})
			if reason, err := r.Heal(t.Context()); err != nil || reason != "created" {
				t.Fatalf("the first life: %q, %v", reason, err)
			}
			commit(t, s, opening...)
			if err := pump.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, e := range test.published {
				if _, err := log.Publish(t.Context(), []bus.Message{{Codebase: e.Codebase, Lane: outbox.LaneOf(e), ID: e.ID(), Data: encode(t, e)}}, nil); err != nil {
					t.Fatal(err)
				}
			}
			commit(t, s, test.waiting...)
			if reason, err := r.Heal(t.Context()); err != nil || reason != test.want {
				t.Errorf("healed because of %q, %v; want %q", reason, err, test.want)
			}
		})
	}
}

func encode(t *testing.T, e event.Event) []byte {
	t.Helper()
	data, err := event.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func commit(t *testing.T, s store.Store, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		if err := s.PutOutbox(t.Context(), []store.OutboxEvent{{Codebase: e.Codebase, Snapshot: e.Snapshot, Part: e.Part, Data: encode(t, e)}}); err != nil {
			t.Fatal(err)
		}
	}
}
