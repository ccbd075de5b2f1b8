package watch

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/sync/scan"
)

func TestMain(m *testing.M) {
	if verb := os.Getenv(childEnv); verb != "" {
		os.Exit(child(verb))
	}
	goleak.VerifyTestMain(m)
}

// rig is a watched tree on disk.
type rig struct {
	t       testing.TB
	root    string
	watcher *Watcher
	scanner *scan.Scanner
	index   *scan.Index
}

// open makes a rig of root whose first scan the watcher has followed. Its reader does not
// run: only Prove reads.
func open(t testing.TB, root string, opts Options) *rig {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	r := &rig{t: t, root: root, scanner: scan.New(root, scan.Options{})}
	var err error
	r.watcher, err = Open(root, opts)
	r.must(err)
	t.Cleanup(func() { r.must(r.watcher.Close()) })
	r.scan(nil)
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) path(name string) string { return filepath.Join(r.root, name) }

func (r *rig) write(name, text string) {
	r.t.Helper()
	r.must(os.MkdirAll(filepath.Dir(r.path(name)), 0o750))
	r.must(os.WriteFile(r.path(name), []byte(text), 0o600))
}

func (r *rig) scan(dirty *scan.Dirty) scan.Result {
	r.t.Helper()
	result, err := r.scanner.ScanPart(r.t.Context(), r.index, scan.Part{Dirty: dirty, Follower: r.watcher}, nil)
	r.must(err)
	r.index = result.Index
	return result
}

// catchUp scans what was heard of and returns the paths that changed.
func (r *rig) catchUp() []string {
	r.t.Helper()
	dirty, err := r.watcher.Prove()
	r.must(err)
	var paths []string
	for _, c := range r.scan(&dirty).Changed {
		paths = append(paths, c.Path)
	}
	return paths
}

// run starts the reader until the test ends.
func (r *rig) run() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.watcher.Run(ctx) }()
	r.t.Cleanup(func() {
		stop()
		r.must(<-ended)
	})
}
