package apply

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/sync/merkle"
)

type silent struct{}

func (silent) Flush(context.Context) error { return nil }

// work is a snapshot whose files a test finishes one by one, in virtual time.
type work struct {
	t      *testing.T
	store  *memstore.Store
	sealer *Sealer
	files  []store.FileEntry
	began  time.Time
	sealed map[store.Level][]time.Duration // when, since it was opened
}

// newWork opens a snapshot of so many files and runs its sealer until the test ends.
func newWork(t *testing.T, files int) *work {
	w := &work{t: t, store: memstore.New(memstore.Options{}), began: time.Now(), sealed: map[store.Level][]time.Duration{}}
	recipe := store.Recipe{Schema: 1}
	w.sealer = New(w.store, Options{
		Outbox: silent{}, Recipe: recipe,
		Fallback: func(content []byte) store.Syntax {
			return store.Syntax{Cut: store.CutLines, Chunks: []store.Chunk{{End: uint32(len(content)), StartLine: 1, EndLine: 1}}}
		},
		OnSealed: func(n store.Snapshot) { w.sealed[n.Level] = append(w.sealed[n.Level], time.Since(w.began)) },
	})
	_, err := w.store.Register(t.Context(), store.Codebase{ID: "ca", Name: "a", Root: "/a"})
	w.must(err)
	o := store.Opening{Codebase: "ca", Number: 1, Recipe: recipe, Root: merkle.Hash{1}, Rebuild: true, At: w.began}
	for i := range files {
		content := fmt.Appendf(nil, "file %d", i)
		f := store.FileEntry{Path: fmt.Sprintf("f%06d", i), Content: merkle.Hash(sha256.Sum256(content)), Size: int64(len(content))}
		o.Upserts, o.Contents = append(o.Upserts, f), append(o.Contents, store.Content{Hash: f.Content, Data: content})
	}
	w.files = o.Upserts
	_, err = w.store.Open(t.Context(), o)
	w.must(err)
	go func() { w.must(w.sealer.Run(t.Context())) }()
	w.tell(event.Opening(w.header(), event.Opened{Root: o.Root, Recipe: recipe}, nil, nil)[0])
	return w
}

func (w *work) must(err error) {
	w.t.Helper()
	if err != nil && !errors.Is(err, bus.ErrObsolete) {
		w.t.Error(err)
	}
}

func (w *work) header() event.Event {
	return event.Event{Codebase: "ca", Snapshot: 1, Fingerprint: w.sealer.fingerprint, At: w.began}
}

func (w *work) tell(e event.Event) {
	w.t.Helper()
	data, err := event.Encode(e)
	w.must(err)
	w.must(w.sealer.Handle(w.t.Context(), bus.Delivery{Stored: bus.Stored{Message: bus.Message{Codebase: "ca", Data: data}}}))
}

// finish gives files their syntax and says so.
func (w *work) finish(files []store.FileEntry) {
	w.t.Helper()
	rule := store.NewRule(store.Recipe{Schema: 1}, nil)
	var named []event.File
	for _, f := range files {
		named = append(named, event.FileOf(f))
		w.must(w.store.PutSyntax(w.t.Context(), []store.SyntaxRecord{{Key: rule.Key(f), Syntax: store.Syntax{Cut: store.CutLines}}}))
		w.must(w.store.PutVectors(w.t.Context(), rule.Embedding(), nil, []store.SyntaxKey{rule.Key(f)}))
	}
	changed := event.Again(w.header(), named)[0]
	w.tell(event.Embedded(changed, named, time.Now()))
}

// Files that hang delay themselves: the others of the snapshot are searchable within twice
// the time that they took, however few they are, and whether or not anyone waits for them.
func TestHangingFilesDelayOnlyThemselves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files, hanging int
		clean          time.Duration
	}{
		{1, 1, 0}, {3, 1, 600 * time.Millisecond}, {200, 66, 900 * time.Millisecond}, {200, 200, 0}, {1000, 1, 20 * time.Second},
	} {
		t.Run(fmt.Sprintf("%d of %d", c.hanging, c.files), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWork(t, c.files)
				others := w.files[c.hanging:]
				pause := c.clean / time.Duration(max(1, (len(others)+49)/50))
				for done := others; len(done) > 0; done = done[min(50, len(done)):] {
					time.Sleep(pause)
					w.finish(done[:min(50, len(done))])
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				at := w.sealed[store.LevelText]
				if most := max(2*c.clean, c.clean+minStall); len(at) != 1 || at[0] > most || at[0] <= c.clean {
					t.Errorf("sealed at level text after %v, want once within %v", at, most)
				}
				if early := w.sealed[store.LevelFull]; len(early) > 0 {
					t.Errorf("sealed full after %v, with files that hang", early)
				}
				w.finish(w.files[:c.hanging])
				if at := w.sealed[store.LevelFull]; len(at) != 1 {
					t.Errorf("sealed full after %v, want once when all are done", at)
				}
			})
		})
	}
}

// An index whose work goes on is sealed once: it does not pay for what a hanging file needs.
func TestSteadyWorkIsSealedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files int
		first time.Duration // until the first event
		pause time.Duration // between events of 50 files
	}{
		{50, 900 * time.Millisecond, 0}, {200, 900 * time.Millisecond, 900 * time.Millisecond}, {2000, 9 * time.Second, 2 * time.Second},
		{10_000, 30 * time.Second, 10 * time.Second},
	} {
		t.Run(fmt.Sprint(c.files), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWork(t, c.files)
				time.Sleep(c.first)
				for rest := w.files; len(rest) > 0; rest = rest[50:] {
					w.finish(rest[:50])
					time.Sleep(c.pause)
				}
				synctest.Wait()
				if len(w.sealed[store.LevelText]) != 0 || len(w.sealed[store.LevelFull]) != 1 {
					t.Errorf("sealed after %v, want full once", w.sealed)
				}
			})
		})
	}
}
