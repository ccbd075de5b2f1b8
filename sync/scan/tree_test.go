package scan

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/ignore"
	"github.com/freshet/freshet/sync/merkle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree is a working tree on disk with the last index of it, what a store would hold, and
// every content that was handed out.
type tree struct {
	t       testing.TB
	root    string
	scanner *Scanner
	part    Part
	index   *Index
	merkle  *merkle.Tree
	stats   map[string]store.StatEntry

	mu       sync.Mutex // guards contents
	contents map[merkle.Hash]string
}

func newTree(t testing.TB, opts Options) *tree {
	return &tree{
		t: t, root: t.TempDir(), stats: map[string]store.StatEntry{}, contents: map[merkle.Hash]string{},
		scanner: New("", opts),
	}
}

// settled makes a scanner to whom everything on disk is long past, so that nothing is racy.
func settled() Options {
	return Options{Now: func() time.Time { return time.Now().Add(time.Hour) }}
}

func (w *tree) Content(_ string, h merkle.Hash, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.contents[h] = string(data)
	return nil
}

func (w *tree) path(name string) string { return filepath.Join(w.root, name) }

func (w *tree) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *tree) write(name, text string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	w.must(os.WriteFile(w.path(name), []byte(text), 0o644))
}

func (w *tree) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(w.path(name)); !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		w.must(err)
	}
}

func (w *tree) try() (Result, error) {
	w.scanner.root = w.root
	return w.scanner.ScanPart(context.Background(), w.index, w.part, w)
}

// scan scans, applies the differences as a store and a synchronizer would, and checks that
// they add up to the index.
func (w *tree) scan() Result {
	w.t.Helper()
	r, err := w.try()
	w.must(err)
	for _, path := range r.StatRemoves {
		if _, ok := w.stats[path]; !ok {
			w.t.Fatalf("%q is removed and was not there", path)
		}
		delete(w.stats, path)
	}
	for _, e := range r.Stats {
		if w.stats[e.Path] == e {
			w.t.Fatalf("%q is upserted and does not differ", e.Path)
		}
		w.stats[e.Path] = e
	}
	entries := map[string]store.StatEntry{}
	for e := range r.Index.Entries() {
		entries[e.Path] = e
	}
	if diff := cmp.Diff(entries, w.stats); diff != "" {
		w.t.Fatalf("differences do not add up to the index (-index +store):\n%s", diff)
	}
	next, err := w.merkle.Edit(r.Edits())
	w.must(err)
	whole, err := r.Index.Tree()
	w.must(err)
	if next.Root() != whole.Root() || next.Len() != r.Summary.Files {
		w.t.Fatalf("edited tree of %d files is not the index's of %d, summary says %d", next.Len(), whole.Len(), r.Summary.Files)
	}
	for path, leaf := range next.All() {
		if _, ok := w.contents[leaf.Content]; !ok {
			w.t.Fatalf("content of %q was not handed out", path)
		}
	}
	w.index, w.merkle = r.Index, next
	return r
}

// reload forgets the index and loads it from what a store would hold.
func (w *tree) reload() {
	w.t.Helper()
	index, err := LoadIndex(func(yield func(store.StatEntry, error) bool) {
		for _, e := range w.stats {
			if !yield(e, nil) {
				return
			}
		}
	})
	w.must(err)
	w.index = index
}

// changed lists the paths of a result, removed ones with a minus.
func changed(r Result) []string {
	var paths []string
	for _, c := range r.Changed {
		if c.Leaf == nil {
			c.Path = "-" + c.Path
		}
		paths = append(paths, c.Path)
	}
	return paths
}

func (w *tree) want(r Result, paths ...string) {
	w.t.Helper()
	if diff := cmp.Diff(paths, changed(r)); diff != "" {
		w.t.Fatalf("wrong changes (-want +got):\n%s", diff)
	}
}

// leftOut returns the reason that the index has for a path.
func (w *tree) leftOut(path string) store.LeftOut {
	w.t.Helper()
	e, ok := w.index.Lookup(path)
	if !ok {
		w.t.Fatalf("nothing is known of %q", path)
	}
	return e.LeftOut
}

// naive is the slow twin: it walks with the standard library and asks for each path anew.
func (w *tree) naive() map[string]string {
	w.t.Helper()
	files := map[string]string{}
	var exclude *ignore.Rules
	if data, err := os.ReadFile(w.path(ignore.GitExclude)); err == nil {
		exclude = exclude.Child("", ignore.File{Path: ignore.GitExclude, Data: data})
	}
	read := func(dir string) []ignore.File {
		var found []ignore.File
		for _, name := range []string{ignore.GitIgnore, ignore.FreshetIgnore} {
			if info, err := os.Lstat(filepath.Join(w.root, dir, name)); err == nil && info.Mode().IsRegular() {
				data, err := os.ReadFile(filepath.Join(w.root, dir, name))
				w.must(err)
				found = append(found, ignore.File{Path: join(dir, name), Data: data})
			}
		}
		return found
	}
	w.must(filepath.WalkDir(w.root, func(full string, d fs.DirEntry, err error) error {
		w.must(err)
		path := strings.TrimPrefix(strings.TrimPrefix(full, w.root), "/")
		if path == "" {
			return nil
		}
		if d.IsDir() {
			_, err := os.Lstat(filepath.Join(full, ".git"))
			if d.Name() == ".git" || err == nil || ignore.Resolve(exclude, read, path, true).Ignored {
				return fs.SkipDir
			}
			return nil
		}
		if d.Name() == ".git" || !d.Type().IsRegular() || secret.Named(path) || ignore.Resolve(exclude, read, path, false).Ignored {
			return nil
		}
		data, err := os.ReadFile(full)
		w.must(err)
		if len(data) <= DefaultMaxFileBytes && !isBinary(data) && !isMinified(path, data) {
			files[path] = string(data)
		}
		return nil
	}))
	return files
}

// sameAsNaive compares the tree that scans arrived at with the slow twin's.
func (w *tree) sameAsNaive() {
	w.t.Helper()
	got := map[string]string{}
	for path, leaf := range w.merkle.All() {
		got[path] = w.contents[leaf.Content]
	}
	if diff := cmp.Diff(w.naive(), got); diff != "" {
		w.t.Fatalf("the tree is not the disk's (-disk +tree):\n%s", diff)
	}
}

func keys(r Result) []string {
	var paths []string
	for _, e := range r.Stats {
		paths = append(paths, e.Path)
	}
	return paths
}
