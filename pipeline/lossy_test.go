package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/sqlitestore"
	"github.com/freshet/freshet/sync/merkle"
)

// lossy is a store that loses rows when it is about to be sealed: after Pending said that
// nothing is left, and before segments are built. What is put again is there again.
type lossy struct {
	store.Store

	mu    sync.Mutex // guards what follows
	lose  func()     // called once, when Pending is empty; nil when nothing is to be lost
	texts map[merkle.Hash]bool
	// damaged are texts whose vectors cannot be read, nor put again, until they are discarded.
	damaged map[merkle.Hash]bool
	lost    map[merkle.Hash]bool // contents
}

func (s *lossy) Pending(ctx context.Context, id store.CodebaseID, number uint64, recipe store.Recipe) ([]store.PendingFile, error) {
	pending, err := s.Store.Pending(ctx, id, number, recipe)
	s.mu.Lock()
	lose := s.lose
	if len(pending) == 0 && err == nil {
		s.lose = nil
	} else {
		lose = nil
	}
	s.mu.Unlock()
	if lose != nil {
		lose()
	}
	return pending, err
}

func (s *lossy) Content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost[h] {
		return nil, fmt.Errorf("content %s: %w", h.Short(), store.ErrNotFound)
	}
	return s.Store.Content(ctx, h)
}

func (s *lossy) Vectors(ctx context.Context, embedding string, texts []merkle.Hash) (map[merkle.Hash]store.Vector, error) {
	found, err := s.Store.Vectors(ctx, embedding, texts)
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.texts {
		delete(found, h)
	}
	broken := store.Damage{Embedding: embedding}
	for h := range s.damaged {
		if _, ok := found[h]; ok {
			delete(found, h)
			broken.Vectors = append(broken.Vectors, h)
		}
	}
	if err == nil && len(broken.Vectors) > 0 {
		err = &store.DamagedError{Damage: broken, Err: store.ErrCorrupt}
	}
	return found, err
}

func (s *lossy) Discard(ctx context.Context, d store.Damage) error {
	s.mu.Lock()
	for _, h := range d.Vectors {
		delete(s.damaged, h)
	}
	s.mu.Unlock()
	return s.Store.Discard(ctx, d)
}

func (s *lossy) PutVectors(ctx context.Context, embedding string, vectors []store.VectorRecord, done []store.SyntaxKey) error {
	s.mu.Lock()
	for _, v := range vectors {
		delete(s.texts, v.TextHash)
	}
	s.mu.Unlock()
	return s.Store.PutVectors(ctx, embedding, vectors, done)
}

// rowsOf are what a store has of one file.
type rowsOf struct {
	key   store.SyntaxKey
	texts []merkle.Hash
}

func (r *rig) rowsOf(path string) rowsOf {
	r.t.Helper()
	c, err := r.store.Codebase(r.t.Context(), r.codebase.ID)
	r.must(err)
	f, err := r.store.File(r.t.Context(), c.ID, c.Latest, path)
	r.must(err)
	rows := rowsOf{key: store.SyntaxKey{Content: f.Content, Version: r.recipe.SyntaxVersion(f.Language)}}
	syntaxes, err := r.store.Syntax(r.t.Context(), []store.SyntaxKey{rows.key})
	r.must(err)
	for _, chunk := range syntaxes[rows.key].Chunks {
		rows.texts = append(rows.texts, chunk.TextHash)
	}
	return rows
}

func sqlite(t *testing.T, dir string) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), dir, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Rows that are lost between the stages and the build of the segments fail the seal: the work
// is made again, and what cannot be made again parks its file and no other.
func TestRowsLostBeforeTheSealAreMadeAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lose   func(r *rig, s *lossy, rows rowsOf)
		parked bool
	}{
		"syntax": {lose: func(r *rig, s *lossy, rows rowsOf) {
			r.must(s.DropSyntax(r.t.Context(), []store.SyntaxKey{rows.key}))
		}},
		"a vector": {lose: func(_ *rig, s *lossy, rows rowsOf) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.texts = map[merkle.Hash]bool{rows.texts[len(rows.texts)-1]: true}
		}},
		"a vector that is damaged": {lose: func(_ *rig, s *lossy, rows rowsOf) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.damaged = map[merkle.Hash]bool{rows.texts[0]: true}
		}},
		"content": {parked: true, lose: func(_ *rig, s *lossy, rows rowsOf) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lost = map[merkle.Hash]bool{rows.key.Content: true}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lite := sqlite(t, t.TempDir())
			t.Cleanup(func() { closeOf(t, lite) })
			s := &lossy{Store: lite}
			r := newRig(t, rigOptions{store: s})
			smallTree(r)
			r.catchUp()
			r.write("edited.go", goFile("edited", "Unlucky"))
			r.write("beside.go", goFile("beside", "Lucky"))
			s.mu.Lock()
			s.lose = func() { tt.lose(r, s, r.rowsOf("edited.go")) }
			s.mu.Unlock()
			snapshot := r.catchUp()
			s.mu.Lock()
			lost := s.lose == nil
			s.mu.Unlock()
			if snapshot.Files != 7 || !lost {
				t.Fatalf("snapshot %+v; rows were lost: %v", snapshot, lost)
			}
			failures, err := s.Failures(t.Context(), r.codebase.ID)
			r.must(err)
			parked := 0
			for _, f := range failures {
				if f.Path != "edited.go" || f.Reason == "" {
					t.Errorf("failure %+v", f)
				}
				if f.Parked {
					parked++
				}
			}
			if tt.parked != (parked > 0) {
				t.Errorf("%d files are parked", parked)
			}
			if n := r.filesWithTerm("lucky"); n != 1 {
				t.Errorf("the file beside it is found in %d files", n)
			}
			if !tt.parked {
				r.wantClean()
			}
		})
	}
}

// Rows that are lost twice within a second are made again twice: the events of the second
// making are others than those of the first, which the log would drop.
func TestRowsLostTwiceInASecondAreMadeAgain(t *testing.T) {
	t.Parallel()
	lite := sqlite(t, t.TempDir())
	t.Cleanup(func() { closeOf(t, lite) })
	s := &lossy{Store: lite}
	r := newRig(t, rigOptions{store: s, reconcile: time.Hour})
	smallTree(r)
	r.catchUp()
	r.write("edited.go", goFile("edited", "Unlucky"))
	times := 0
	var lose func()
	lose = func() {
		r.must(s.DropSyntax(r.t.Context(), []store.SyntaxKey{r.rowsOf("edited.go").key}))
		s.mu.Lock()
		defer s.mu.Unlock()
		if times++; times < store.MaxTries-1 {
			s.lose = lose
		}
	}
	s.mu.Lock()
	s.lose = lose
	s.mu.Unlock()
	r.catchUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	if times != store.MaxTries-1 {
		t.Errorf("rows were lost %d times, want %d", times, store.MaxTries-1)
	}
	if n := r.filesWithTerm("unlucky"); n != 1 {
		t.Errorf("the file is found in %d files", n)
	}
}

// Rows of an unchanged file that are lost hold up no edit, and its segment, which is right,
// is neither taken up nor merged without them.
func TestLostRowsStayInOldSegments(t *testing.T) {
	t.Parallel()
	s := &lossy{Store: memstore.New(memstore.Options{})}
	t.Cleanup(func() { closeOf(t, s) })
	r := newRig(t, rigOptions{store: s})
	r.write("old.go", goFile("old", "Unlucky"))
	r.catchUp()
	rows := r.rowsOf("old.go")
	s.mu.Lock()
	s.texts = map[merkle.Hash]bool{rows.texts[0]: true}
	s.mu.Unlock()
	for i := range 2 {
		r.write(fmt.Sprintf("new%d.go", i), goFile("fresh", fmt.Sprintf("F%d", i)))
		r.catchUp()
		if _, err := r.pipeline.Sealer.Compact(t.Context(), r.codebase.ID); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Lock()
	s.texts = nil
	s.mu.Unlock()
	r.wantClean()
}

// A store that is older than its event log opens the same number again, and events of its
// lost life say that the work of it is done. They are overruled: nothing is sealed without
// its syntax and vectors.
func TestStoreOlderThanItsLog(t *testing.T) {
	t.Parallel()
	home, root := t.TempDir(), t.TempDir()
	log, err := natsbus.Open(t.Context(), natsbus.Options{Dir: filepath.Join(home, "log"), RelaxedSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeOf(t, log) })
	live, older := filepath.Join(home, "store"), filepath.Join(home, "older")

	first := sqlite(t, live)
	r := newRig(t, rigOptions{root: root, store: first, bus: log})
	smallTree(r)
	r.catchUp()
	r.stop()
	closeOf(t, first)
	r.must(os.CopyFS(older, os.DirFS(live)))

	second := sqlite(t, live)
	r = newRig(t, rigOptions{root: root, store: second, bus: log})
	for i := range 20 {
		r.write(fmt.Sprintf("f%d.go", i), goFile("f", fmt.Sprintf("Edited%d", i)))
	}
	number := r.catchUp().Number
	r.stop()
	closeOf(t, second)
	var embedded []bus.Delivery
	r.must(log.Read(t.Context(), 1, 0, func(m bus.Stored) error {
		e, err := event.Decode(m.Data)
		if err == nil && e.Type == event.FilesEmbedded && e.Snapshot == number {
			embedded = append(embedded, bus.Delivery{Stored: m, Tries: 1})
		}
		return err
	}))

	gate := &gated{Provider: builtin.New(), open: make(chan struct{})}
	third := sqlite(t, older)
	t.Cleanup(func() { closeOf(t, third) })
	r = newRig(t, rigOptions{root: root, store: third, bus: log, provider: gate, threshold: -1})
	seen, err := r.sync.Check(t.Context())
	r.must(err)
	if seen.Snapshot != number || len(embedded) == 0 {
		t.Fatalf("snapshot %d was opened after %d, with %d old events", seen.Snapshot, number, len(embedded))
	}
	for range 2 {
		for _, d := range embedded {
			if err := r.pipeline.Sealer.Handle(t.Context(), d); err != nil && !errors.Is(err, bus.ErrObsolete) {
				t.Fatal(err)
			}
		}
	}
	if current := r.current(); current.Number == number {
		t.Fatalf("snapshot %d was sealed %s by events of another life", number, current.Level)
	}
	close(gate.open)
	r.catchUp()
	r.wantClean()
}
