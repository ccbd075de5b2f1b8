package stage

import (
	"errors"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/sync/merkle"
)

// A cancelled snapshot costs no more work: its messages are obsolete.
func TestAbandonedSnapshotIsObsolete(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var recipe store.Recipe
	if _, err := s.Register(t.Context(), store.Codebase{ID: "ca", Name: "a", Root: "/a"}); err != nil {
		t.Fatal(err)
	}
	opened, err := s.Open(t.Context(), store.Opening{Codebase: "ca", Number: 1, Recipe: recipe, Root: merkle.Hash{1}, At: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	files := []event.File{{Path: "a.go", Content: merkle.Hash{1}, Size: 1}}
	base := event.Event{Codebase: "ca", Snapshot: opened.Number, Fingerprint: recipe.Fingerprint(), At: time.Unix(1, 0)}
	data, err := event.Encode(event.Again(base, files)[0])
	if err != nil {
		t.Fatal(err)
	}
	c := newCore(Deps{Store: s, Recipe: recipe}, store.StageChunk)
	delivery := bus.Delivery{Stored: bus.Stored{Message: bus.Message{Codebase: "ca", Data: data}}}
	if _, err := c.admit(t.Context(), delivery); err != nil {
		t.Fatalf("a snapshot that awaits sealing: %v", err)
	}
	if err := s.Abandon(t.Context(), "ca", opened.Number); err != nil {
		t.Fatal(err)
	}
	if _, err := c.admit(t.Context(), delivery); !errors.Is(err, bus.ErrObsolete) {
		t.Errorf("an abandoned snapshot: %v, want ErrObsolete", err)
	}
}
