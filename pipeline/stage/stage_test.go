package stage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

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

// Where workers of several versions share the work, an event of a newer version is left to
// those who know it; alone it is a dead letter.
func TestNewerEventIsLeft(t *testing.T) {
	t.Parallel()
	var own store.Recipe
	other := store.Recipe{Chunker: "another"}
	message := func(of store.Fingerprint, version int, kind string) bus.Delivery {
		data := fmt.Sprintf(`{"version":%d,"type":%q,"codebase":"ca","fingerprint":%q,"shape":["another"]}`, version, kind, of)
		return bus.Delivery{Stored: bus.Stored{Message: bus.Message{Codebase: "ca", Data: []byte(data)}}}
	}
	for _, c := range []struct {
		name     string
		shared   bool
		delivery bus.Delivery
		want     bus.Fate
	}{
		{"newer version", true, message(own.Fingerprint(), 2, "files.changed"), bus.Redeliver},
		{"newer type", true, message(own.Fingerprint(), 1, "files.painted"), bus.Redeliver},
		{"newer version of another recipe", true, message(other.Fingerprint(), 2, "files.changed"), bus.Acknowledge},
		{"malformed", true, message(own.Fingerprint(), 0, "files.changed"), bus.MoveToDeadLetters},
		{"newer version, alone", false, message(own.Fingerprint(), 2, "files.changed"), bus.MoveToDeadLetters},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			core := newCore(Deps{Recipe: own, Shared: c.shared}, store.StageChunk)
			_, err := core.admit(t.Context(), c.delivery)
			if fate, _ := bus.FateOf(err, 1); fate != c.want {
				t.Errorf("%v: fate %d, want %d", err, fate, c.want)
			}
		})
	}
}

// slowCutter counts the cuts of each content, and takes its time for each.
type slowCutter struct {
	mu   sync.Mutex
	cuts map[string]int
}

func (c *slowCutter) Cut(ctx context.Context, _ string, content []byte) (store.Syntax, error) {
	c.mu.Lock()
	c.cuts[string(content)]++
	c.mu.Unlock()
	select {
	case <-ctx.Done():
		return store.Syntax{}, ctx.Err()
	case <-time.After(time.Millisecond):
	}
	return store.Syntax{Chunks: []store.Chunk{{End: uint32(len(content))}}}, nil
}

type sink struct{}

func (sink) Publish(context.Context, []bus.Message, *uint64) (uint64, error) { return 1, nil }

// The same files in messages that overlap in every way, handed out at once, are cut once.
func TestFilesAreClaimed(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Register(t.Context(), store.Codebase{ID: "ca", Name: "a", Root: "/a"}); err != nil {
		t.Fatal(err)
	}
	var recipe store.Recipe
	opened, err := s.Open(t.Context(), store.Opening{Codebase: "ca", Number: 1, Recipe: recipe, Root: merkle.Hash{1}, At: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	var files []event.File
	for i := range 40 {
		content := fmt.Appendf(nil, "file %d", i)
		hash := merkle.Hash(sha256.Sum256(content))
		if err := s.PutContents(t.Context(), []store.Content{{Hash: hash, Data: content}}); err != nil {
			t.Fatal(err)
		}
		files = append(files, event.File{Path: fmt.Sprintf("f%d.txt", i), Content: hash, Size: int64(len(content))})
	}
	cutter := &slowCutter{cuts: map[string]int{}}
	c := NewChunker(Deps{Store: s, Bus: sink{}, Recipe: recipe}, ChunkerOptions{Cutter: cutter})
	var g errgroup.Group
	for i := range 8 {
		base := event.Event{Codebase: "ca", Snapshot: opened.Number, Fingerprint: recipe.Fingerprint(), At: time.Unix(1, 0)}
		for _, e := range event.Again(base, files[i*2:40-i*2]) {
			data, err := event.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			g.Go(func() error {
				return c.Handle(t.Context(), bus.Delivery{Stored: bus.Stored{Message: bus.Message{Codebase: "ca", Data: data}}})
			})
		}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for content, n := range cutter.cuts {
		if n != 1 {
			t.Errorf("%s was cut %d times", content, n)
		}
	}
	if len(cutter.cuts) != len(files) || len(c.claims.held) != 0 {
		t.Errorf("%d of %d contents were cut, %d claims are left", len(cutter.cuts), len(files), len(c.claims.held))
	}
}
