package merklesync_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/storetest"
	merklesync "github.com/freshet/freshet/sync"
)

// seal makes a snapshot current, as the pipeline would.
func (r *rig) seal(s store.Snapshot) {
	r.t.Helper()
	r.must(storetest.Finish(r.t.Context(), r.store, s.Codebase, s.Number))
	r.must(r.store.Seal(r.t.Context(), store.Seal{Codebase: s.Codebase, Number: s.Number, Level: store.LevelFull, At: time.Now()}))
	s.Level = store.LevelFull
	r.sync.Sealed(s)
}

// opens waits for a snapshot that nobody asked for, and seals it.
func (r *rig) opens(what string) {
	r.t.Helper()
	select {
	case s := <-r.opened:
		if s.Root != r.truth() {
			r.t.Fatalf("%s: snapshot %d has not the tree", what, s.Number)
		}
		r.seal(s)
	case <-time.After(patience):
		r.t.Fatalf("%s: no snapshot was opened; the watcher is %+v", what, r.sync.Watch())
	}
}

func TestChangesAreOpenedUnasked(t *testing.T) {
	t.Parallel()
	polled := watching(t)
	polled.MaxWatches = 1
	for name, w := range map[string]merklesync.Watching{"watched": watching(t), "polled": polled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if err := os.WriteFile(root+"/a.go", []byte("package a\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, mkdirBelow(t, root), w)
			r.opens("the tree as it was")
			r.must(os.WriteFile(r.path("b.go"), []byte("package b\n"), 0o600))
			r.opens("a new file")
			r.must(os.Remove(r.path("b.go")))
			r.opens("a removal")
		})
	}
}

// mkdirBelow adds a directory, so that one watch is not enough.
func mkdirBelow(t testing.TB, root string) string {
	t.Helper()
	mkdir(t, root+"/below")
	return root
}

func TestStormsAreOneCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// busy is how long git holds a lock, heard how long changes go on, each 10 ms.
		busy, heard, want time.Duration
	}{
		{"one change", 0, 0, 75 * time.Millisecond},
		{"a storm", 0, 500 * time.Millisecond, 565 * time.Millisecond},
		{"a storm without end", 0, time.Minute, time.Second},
		{"a checkout", 3 * time.Second, 0, 3 * time.Second},
		{"a lock left behind", time.Hour, 0, 10 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				took := merklesync.Lull(func() bool { return time.Since(began) < test.heard }, func() bool { return time.Since(began) < test.busy })
				if took < test.want || took > test.want+75*time.Millisecond {
					t.Errorf("it was over after %v, want %v", took, test.want)
				}
			})
		})
	}
}
