package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
)

// rare opens a session whose host looks for forgotten work so rarely that nothing depends
// on it.
func rare(t *testing.T, home string) *Session {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	s, err := Connect(t.Context(), Options{Home: home, Version: "test", ChunkCommand: []string{self, asChild}, Reconcile: 24 * time.Hour})
	check(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close session: %v", err)
		}
	})
	return s
}

// A store that was put back to an older state is caught up at once: the log, which knows
// what the store did after that state, does not swallow what it does next.
func TestRolledBackStoreIsCaughtUpWithoutWaiting(t *testing.T) {
	t.Parallel()
	for _, late := range []int{1, 3} {
		home, root := t.TempDir(), tree(t)
		s := rare(t, home)
		must(t, s, "index", map[string]any{"path": root, "wait": true})
		check(t, s.Close())
		old := filepath.Join(t.TempDir(), "old")
		check(t, os.CopyFS(old, os.DirFS(datadir.StorePath(home))))
		s = rare(t, home)
		for i := range late {
			write(t, root, "pkg0/late.go", "package pkg\n\nfunc Latecomer"+strings.Repeat("x", i+1)+"() {}\n")
			find(t, s, root, "latecomer")
		}
		check(t, s.Close())
		check(t, os.RemoveAll(datadir.StorePath(home)))
		check(t, os.Rename(old, datadir.StorePath(home)))
		s = rare(t, home)
		if paths, state := find(t, s, root, "latecomer"+strings.Repeat("x", late)); paths != "pkg0/late.go" || state != "caught_up" {
			t.Errorf("after %d edits and the store of before them, the last is found in %q, %s", late, paths, state)
		}
		if reasons := baselines(t, s); !slices.Equal(reasons, []string{"store_older"}) {
			t.Errorf("the log begins with %v", reasons)
		}
	}
}
