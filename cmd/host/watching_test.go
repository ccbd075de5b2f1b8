package host

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
)

// watched opens a session whose host watches.
func watched(t *testing.T, home string) *Session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Connect(t.Context(), Options{Home: home, Version: "test", ChunkCommand: []string{self, asChild}, Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close session: %v", err)
		}
	})
	return s
}

// watcher is what status says of the watcher of a codebase.
func watcher(t *testing.T, s *Session, root string) tool.WatchReport {
	t.Helper()
	envelope := must(t, s, "status", map[string]any{"codebase": root})
	return (*envelope.Codebases)[0].Watch
}

// Promise 5: with a live watcher every search sees every write that was finished before it,
// in files and directories that come and go, and the check is no walk.
func TestFreshnessIsProvenByTheWatcher(t *testing.T) {
	t.Parallel()
	root := tree(t)
	s := watched(t, t.TempDir())
	must(t, s, "index", map[string]any{"path": root, "wait": true})
	if w := watcher(t, s, root); w.State != "live" || w.Watches != 4 {
		t.Fatalf("the watcher is %+v", w)
	}
	for i := range 20 {
		word, path := freshWord(i), fmt.Sprintf("new%d/deep/file.go", i%5)
		write(t, root, path, "package deep\n\n// "+word+" is here.\n")
		if paths, state := find(t, s, root, word); paths != path || state != "caught_up" && state != "current" {
			t.Fatalf("round %d: %s is found in %q, %s", i, word, paths, state)
		}
		if i%5 == 4 {
			if err := os.RemoveAll(filepath.Join(root, "new0")); err != nil {
				t.Fatal(err)
			}
			if paths, state := find(t, s, root, freshWord(i-4)); paths != "" {
				t.Fatalf("round %d: a removed file is found: %q, %s", i, paths, state)
			}
		}
	}
	if w := watcher(t, s, root); w.State != "live" || w.Missed > 0 {
		t.Fatalf("the watcher is %+v", w)
	}
}

// freshWord is a word that no other contains.
func freshWord(i int) string { return "wombat" + string(rune('a'+i/26)) + string(rune('a'+i%26)) }

// A host that lives long indexes what changes although nobody asks, from its start on.
func TestChangesAreIndexedUnasked(t *testing.T) {
	t.Parallel()
	root, home := tree(t), t.TempDir()
	first := watched(t, home)
	must(t, first, "index", map[string]any{"path": root, "wait": true})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, root, "before.go", "package before // changedbetween\n")
	s := watched(t, home)
	for _, word := range []string{"changedbetween", "changedmeanwhile"} {
		if word == "changedmeanwhile" {
			write(t, root, "meanwhile.go", "package meanwhile // "+word+"\n")
		}
		for deadline := time.Now().Add(5 * time.Minute); ; {
			envelope := must(t, s, "search", map[string]any{"query": word, "mode": "text", "codebase": root, "freshness": "eventual"})
			if envelope.ReturnedCount > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s was not indexed; the watcher is %+v", word, watcher(t, s, root))
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(home, datadir.WatchPrefix+"*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("directories for cookies are %q, %v", left, err)
	}
}
