package merklesync_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/scan"
)

// What became unreadable keeps its place in the tree and is named by every check until it
// can be read again, with a watcher and without one.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]merklesync.Watching{"watched": watching(t), "walked": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			r := startRig(t, t.TempDir(), merklesync.Options{Outbox: silent{}, Watching: w, Scan: scan.Options{
				Fault: func(op, path string) error {
					if broken.Load() && op == "open" && path == "a.go" {
						return unix.EIO
					}
					return nil
				}}})
			r.write("a.go", "package a\n")
			r.write("b.go", "package b\n")
			if seen := r.check(); seen.KeptCount != 0 {
				t.Fatalf("%d kept of a tree that can be read", seen.KeptCount)
			}
			broken.Store(true)
			r.write("a.go", "package changed\n")
			for range 3 {
				if seen := r.check(); seen.KeptCount != 1 || !slices.Equal(seen.Kept, []string{"a.go"}) {
					t.Fatalf("kept %q, want a.go", seen.Kept)
				}
			}
			broken.Store(false)
			if seen := r.same("readable again"); seen.KeptCount != 0 {
				t.Errorf("kept %q", seen.Kept)
			}
		})
	}
}
