package reconcile_test

import (
	"context"
	"crypto/sha256"
	"fmt"
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

// crowded is a log whose consumers always have something before them.
type crowded struct{ *membus.Bus }

func (c crowded) State(ctx context.Context) (bus.State, error) {
	state, err := c.Bus.State(ctx)
	state.Consumers = map[string]bus.ConsumerState{"w": {Pending: 5, InFlight: 1}}
	return state, err
}

// forgetful is a sealer that is told to ask the store.
type forgetful struct{}

func (forgetful) Advance(context.Context, store.CodebaseID) error { return nil }
func (forgetful) Forget()                                         {}

// TestLostWorkIsMadeAgainBesideABusyCodebase: the work of a codebase whose events are lost is
// made again although the log is never idle, and that of one that progresses is not.
func TestLostWorkIsMadeAgainBesideABusyCodebase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, log := memstore.New(memstore.Options{}), crowded{membus.New()}
	recipe := store.Recipe{Schema: 1}
	pump := outbox.New(s, log, slog.New(slog.DiscardHandler))
	r := reconcile.New(s, log, pump, forgetful{}, reconcile.Options{Recipe: recipe, Consumers: func() []string { return []string{"w"} }})
	const files = 4
	content := func(id store.CodebaseID, i int) store.Content {
		data := fmt.Appendf(nil, "%s %d", id, i)
		return store.Content{Hash: sha256.Sum256(data), Data: data}
	}
	for n, id := range []store.CodebaseID{"lost", "busy"} {
		if _, err := s.Register(ctx, store.Codebase{ID: id, Name: string(id), Root: "/" + string(id)}); err != nil {
			t.Fatal(err)
		}
		o := store.Opening{Codebase: id, Number: 1, Recipe: recipe, Root: merkle.Hash{byte(n + 1)}, Rebuild: true, At: time.Unix(9, 0)}
		for i := range files {
			c := content(id, i)
			o.Upserts = append(o.Upserts, store.FileEntry{Path: fmt.Sprint(i), Content: c.Hash, Size: int64(len(c.Data)), Language: "Go"})
			o.Contents = append(o.Contents, c)
		}
		if _, err := s.Open(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	again := func() map[store.CodebaseID]int {
		made := map[store.CodebaseID]int{}
		err := log.Read(ctx, 1, 0, func(m bus.Stored) error {
			e, err := event.Decode(m.Data)
			if err == nil && e.Type == event.FilesChanged {
				made[m.Codebase] += len(e.Changed.Files)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for look := range files { // each sees one file more of the busy codebase cut
		if err := s.PutSyntax(ctx, []store.SyntaxRecord{{Key: store.SyntaxKey{Content: content("busy", look).Hash, Version: recipe.SyntaxVersion("Go")}}}); err != nil {
			t.Fatal(err)
		}
		if err := r.Once(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if made := again(); made["lost"] < files || made["busy"] != 0 {
		t.Errorf("made again: %v, want every file of the lost codebase and none of the busy one", made)
	}
}
