package host

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/freshet/freshet/store"
)

// TestClearLeavesNothingInTheFiles: after clear no path, no definition and no content of the
// codebase is in any file of the data directory, the write-ahead log and free pages
// included, and no session remembers anything of it, while the host goes on.
func TestClearLeavesNothingInTheFiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := connect(t, home)
	kept, gone := tree(t), tree(t)
	noise := make([]byte, 400<<10) // what cannot be compressed lies in the store as it is
	_, _ = rand.Read(noise)
	noise = append([]byte("text\n"), bytes.ReplaceAll(noise, []byte{0}, []byte{'\n'})...)
	write(t, gone, "only/canarypath.txt", string(noise))
	write(t, gone, "only/canarypath.go", "package only\n\n// CanaryName is only here.\nfunc CanaryName() {}\n")
	must(t, s, "index", map[string]any{"path": kept})
	must(t, s, "index", map[string]any{"path": gone})
	id := must(t, s, "status", map[string]any{"codebase": gone}).Codebase.ID
	write(t, gone, "only/canarypath.go", "package only\n\n// CanaryName is only here, again.\nfunc CanaryName() int { return 1 }\n")
	must(t, s, "sync", map[string]any{"codebase": gone})
	must(t, s, "read", map[string]any{"targets": []string{"only/canarypath.go"}, "codebase": gone, "session_id": "agent"})
	must(t, s, "search", map[string]any{"query": "CanaryName", "codebase": gone, "session_id": "agent"})
	host, err := s.hosting()
	check(t, err)
	if session, err := host.store.Session(t.Context(), "agent"); err != nil || bytes.Contains(session.Body, []byte("canarypath")) {
		t.Errorf("the session is %q, %v", session.Body, err)
	}
	canaries := map[string][]byte{"a path": []byte("canarypath"), "a definition": []byte("CanaryName"), "a content": noise[1000:1024], "the end of a content": noise[len(noise)-1000 : len(noise)-976]}
	for name, canary := range canaries {
		if len(filesWith(t, home, canary)) == 0 {
			t.Errorf("%s is not found before: nothing is tried", name)
		}
	}
	must(t, s, "clear", map[string]any{"codebase": gone, "confirm": string(id)})
	for name, canary := range canaries {
		if files := filesWith(t, home, canary); len(files) > 0 {
			t.Errorf("%s of the cleared codebase is in %v", name, files)
		}
	}
	if _, err := host.store.Session(t.Context(), "agent"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the session is still there: %v", err)
	}
	if paths, _ := find(t, s, kept, "Name7"); paths == "" {
		t.Error("the other codebase finds nothing any more")
	}
}

// filesWith lists the files below a directory that hold some bytes.
func filesWith(t *testing.T, dir string, canary []byte) (found []string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, canary) {
			found = append(found, path)
		}
		return err
	}))
	return found
}
