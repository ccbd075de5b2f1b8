package merklesync_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 5 * time.Minute

// rig is a synchronizer over a real tree and a store in memory, that runs until the test
// ends. Nothing seals what it opens.
type rig struct {
	t      testing.TB
	root   string
	store  *fallible
	sync   *merklesync.Synchronizer
	opened chan store.Snapshot
	end    func() // may be called before the test ends
}

// silent publishes nothing.
type silent struct{}

func (silent) Flush(context.Context) error { return nil }

// Scanned and Opened make the rig the observer of its synchronizer.
func (r *rig) Scanned(store.CodebaseID, scan.Summary, int) {}

func (r *rig) Opened(snapshot store.Snapshot, _ int) { r.opened <- snapshot }

func newRig(t testing.TB, root string, watching merklesync.Watching) *rig {
	t.Helper()
	return startRig(t, root, merklesync.Options{Outbox: silent{}, Watching: watching})
}

// startRig starts a rig whose synchronizer has the options that are not the rig's to choose.
func startRig(t testing.TB, root string, o merklesync.Options) *rig {
	t.Helper()
	r := &rig{
		t: t, root: root, store: &fallible{Store: memstore.New(memstore.Options{})},
		opened: make(chan store.Snapshot, 1_000),
	}
	identity, err := scan.Identity(root)
	r.must(err)
	codebase, err := r.store.Register(t.Context(), store.Codebase{ID: "cwatched", Name: "watched", Root: root, Identity: identity})
	r.must(err)
	o.Observer, o.Recipe = r, store.Recipe{Schema: 1, IgnoreRules: scan.Version}
	r.sync = merklesync.New(r.store, codebase.ID, o)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.sync.Run(ctx) }()
	r.end = sync.OnceFunc(func() {
		stop()
		r.must(<-ended)
		r.must(r.store.Close())
	})
	t.Cleanup(r.end)
	return r
}

// memory is a directory in memory where there is one: ext4 waits for the disk each time a
// file is replaced.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "watched-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// watching is a watcher whose cookies lie in a directory of the test.
func watching(t testing.TB) merklesync.Watching {
	return merklesync.Watching{Dir: t.TempDir(), Retry: time.Millisecond, Poll: 20 * time.Millisecond}
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
	r.must(os.MkdirAll(filepath.Dir(r.path(name)), 0o755))
	r.must(os.WriteFile(r.path(name), []byte(text), 0o644))
}

func (r *rig) check() merklesync.Observation {
	r.t.Helper()
	seen, err := r.sync.Check(r.t.Context())
	r.must(err)
	return seen
}

// live waits until the watcher vouches for the tree.
func (r *rig) live() {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for r.sync.Watch().State != merklesync.WatchLive {
		if time.Now().After(deadline) {
			r.t.Fatalf("the watcher is %+v", r.sync.Watch())
		}
		r.check()
	}
}

// truth is the root of the tree by a scan that knows nothing.
func (r *rig) truth() merkle.Hash {
	r.t.Helper()
	result, err := scan.New(r.root, scan.Options{}).Scan(r.t.Context(), nil, nil)
	r.must(err)
	tree, err := result.Index.Tree()
	r.must(err)
	return tree.Root()
}

// differs checks, and says how the root differs from the truth, "" when it does not.
func (r *rig) differs() (merklesync.Observation, string) {
	r.t.Helper()
	seen := r.check()
	if truth := r.truth(); seen.Root != truth {
		return seen, fmt.Sprintf("the check has root %v, the tree %v; the watcher is %+v", seen.Root, truth, r.sync.Watch())
	}
	return seen, ""
}

// same checks, and compares the root with the truth.
func (r *rig) same(what string) merklesync.Observation {
	r.t.Helper()
	seen, difference := r.differs()
	if difference != "" {
		r.t.Fatalf("%s: %s", what, difference)
	}
	return seen
}
