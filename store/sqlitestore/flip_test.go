package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

const (
	flips   = 200
	flipped = 20 // snapshots of the store that is damaged
)

// TestFlippedBits flips one bit at a time in the closed files of a store. No read returns
// another value than was written; what is missing or refused is reported by Open or Check.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	original := t.TempDir()
	build(t, original, flipped)
	want := dumpOf(t, original)
	files := regularFiles(t, original)
	random := rand.New(rand.NewPCG(5, 6))
	detected := 0
	work := t.TempDir()
	for i := range flips {
		dir := filepath.Join(work, fmt.Sprint(i))
		name := files[0] // the database
		if i%8 == 7 {
			name = files[1+random.IntN(len(files)-1)]
		}
		at := flippedCopy(t, original, dir, files, name, random)
		fault, err := survey(t.Context(), dir, want)
		if err != nil {
			t.Errorf("bit %d of %s: %v", at, name, err)
		}
		if fault != nil {
			detected++
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d flips were detected; the others hit bytes that hold nothing", detected, flips)
	if detected < flips/5 {
		t.Errorf("only %d of %d flips were detected", detected, flips)
	}
}

func build(t *testing.T, dir string, snapshots uint64) {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Register(t.Context(), store.Codebase{ID: testCodebase, Root: "/a"}); err != nil {
		t.Fatal(err)
	}
	for n := uint64(1); n <= snapshots; n++ {
		if err := advance(t.Context(), s, n, func(string) {}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.RecordFailure(t.Context(), store.Failure{Codebase: testCodebase, Path: "p", Reason: "r"}, true, nil)
	if err := firstError(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// regularFiles lists the files of a store, the database first.
func regularFiles(t *testing.T, dir string) []string {
	t.Helper()
	files := []string{fileName}
	err := filepath.WalkDir(filepath.Join(dir, segmentDir), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, filepath.Join(segmentDir, d.Name()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// flippedCopy copies a store with one bit of one file flipped. Whole segments, which are
// never written, are links.
func flippedCopy(t *testing.T, original, dir string, files []string, damaged string, random *rand.Rand) int {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, segmentDir), 0o700); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, name := range files {
		if name != damaged && name != fileName {
			if err := os.Link(filepath.Join(original, name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		data, err := os.ReadFile(filepath.Join(original, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == damaged {
			at = random.IntN(8 * len(data))
			data[at/8] ^= 1 << (at % 8)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// survey opens a damaged store. fault is what was reported, err what must not be.
func survey(ctx context.Context, dir string, want map[string]string) (fault, err error) {
	s, fault := Open(ctx, dir, Options{})
	if fault != nil {
		return fault, nil
	}
	defer func() { err = firstError(err, ignoreCorrupt(s.Close())) }()
	got, fault := dump(ctx, s)
	for item, value := range got {
		if other, ok := want[item]; !ok || other != value {
			return fault, fmt.Errorf("%s is %.200q, want %.200q", item, value, other)
		}
	}
	fault = firstError(fault, s.Check(ctx))
	if fault == nil && len(got) != len(want) {
		return nil, fmt.Errorf("%d items of %d are missing and nothing is reported", len(want)-len(got), len(want))
	}
	if fault != nil && !errors.Is(fault, store.ErrCorrupt) && !errors.Is(fault, store.ErrNotFound) {
		return fault, fmt.Errorf("fault has no name: %w", fault)
	}
	return fault, nil
}

// ignoreCorrupt forgives a close that could not write into a damaged database.
func ignoreCorrupt(err error) error {
	if errors.Is(err, store.ErrCorrupt) {
		return nil
	}
	return err
}

func dumpOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := dump(t.Context(), s)
	if err := firstError(err, s.Check(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	return got
}

// dump reads everything, item by item. A list counts as one item, and so is read whole or
// not at all. It returns the first error and goes on.
func dump(ctx context.Context, s *Store) (map[string]string, error) {
	items := map[string]string{}
	var first error
	put := func(item string, value any, err error) {
		if err != nil {
			first = firstError(first, fmt.Errorf("%s: %w", item, err))
		} else {
			items[item] = fmt.Sprintf("%+v", value)
		}
	}
	codebase, err := s.Codebase(ctx, testCodebase)
	put("codebase", codebase, err)
	recipe, err := s.Recipe(ctx, testRecipe().Fingerprint())
	put("recipe", recipe, err)
	failures, err := s.Failures(ctx, testCodebase)
	if len(failures) > 0 || err != nil {
		put("failures", failures, err)
	}
	events, err := s.Outbox(ctx, 1000)
	put("outbox", "", err)
	for _, e := range events {
		put(fmt.Sprint("event ", e.Snapshot), e, nil)
	}
	for entry, err := range s.Stats(ctx, testCodebase) {
		put("stat of "+entry.Path, entry, err)
	}
	for n := uint64(1); n <= flipped; n++ {
		dumpSnapshot(ctx, s, n, put)
	}
	return items, first
}

func dumpSnapshot(ctx context.Context, s *Store, n uint64, put func(item string, value any, err error)) {
	name := fmt.Sprint("snapshot ", n)
	snapshot, err := s.Snapshot(ctx, testCodebase, n)
	put(name, snapshot, err)
	var files []store.FileEntry
	var failed error
	for f, err := range s.Manifest(ctx, testCodebase, n) {
		files, failed = append(files, f), firstError(failed, err)
	}
	put(name+" manifest", files, failed)
	upserted, removed, err := s.Delta(ctx, testCodebase, n)
	put(name+" delta", []any{upserted, removed}, err)
	view, err := s.View(ctx, testCodebase, n)
	put(name+" view", view, err)
	for _, ref := range view.Segments {
		segment, err := s.OpenSegment(ctx, ref.ID)
		if err != nil {
			put(name+" segment", nil, err)
			continue
		}
		bytes := string(segment.Bytes())
		put(name+" segment", bytes, segment.Close())
	}
	data, err := s.Content(ctx, testContent(n).Hash)
	put(name+" content", string(data), err)
	syntaxes, err := s.Syntax(ctx, []store.SyntaxKey{testKey(n)})
	if x, ok := syntaxes[testKey(n)]; ok || err != nil {
		put(name+" syntax", x, err)
	}
	embedding := testRecipe().Embedding.Key()
	marked, err := s.HasEmbedded(ctx, embedding, []store.SyntaxKey{testKey(n)})
	if len(marked) > 0 || err != nil {
		put(name+" mark", marked, err)
	}
	for i, r := range testVectors(n) {
		found, err := s.Vectors(ctx, embedding, []merkle.Hash{r.TextHash})
		if v, ok := found[r.TextHash]; ok || err != nil {
			put(fmt.Sprint(name, " vector ", i), v, err)
		}
	}
}
