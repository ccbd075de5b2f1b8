package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
)

// lockOut names the directory in which a process of another user is to play lockedOut.
const lockOut = "FRESHET_TEST_LOCK_OUT"

// lockedOut indexes a tree, takes away the right to read some of it, and tells what search,
// status and why then say of it, a line each.
func lockedOut(dir string) (_ string, err error) {
	ctx := context.Background()
	root := filepath.Join(dir, "tree")
	for path, text := range map[string]string{"a.go": "package a\n\nfunc Seen() {}\n", "sub/b.go": "package sub\n\nfunc Below() {}\n"} {
		full := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil { //nolint:gosec // a test's
			return "", err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	s, err := Connect(ctx, Options{Home: filepath.Join(dir, "home"), Version: "test", ChunkCommand: []string{self, asChild}})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	call := func(verb string, params map[string]any) *tool.Envelope {
		params["codebase"] = root
		e, failed := s.Call(ctx, verb, params, nil)
		if failed == nil && e.Error != nil {
			failed = e.Error
		}
		if err = errors.Join(err, failed); failed != nil {
			return &tool.Envelope{}
		}
		return e
	}
	if e, err := s.Call(ctx, "index", map[string]any{"path": root, "wait": true}, nil); err != nil || e.Error != nil {
		return "", errors.Join(err, e.Error)
	}
	var story strings.Builder
	tell := func(what string, e *tool.Envelope) {
		fmt.Fprintf(&story, "%s: %s, %d pending %v", what, e.Freshness.State, e.Freshness.PendingCount, e.Freshness.PendingPaths)
		if len(e.NextSteps) > 0 {
			fmt.Fprintf(&story, ", next %v", e.NextSteps[0].Arguments["path"])
		}
		if e.Why != nil {
			fmt.Fprintf(&story, ", seen %v, searchable %v", e.Why.Steps[0].OK, e.Why.Searchable)
		}
		story.WriteString("\n")
	}
	search := func(word string) *tool.Envelope {
		return call("search", map[string]any{"query": word, "mode": "text"})
	}
	tell("readable", search("Seen"))
	for _, path := range []string{"a.go", "sub"} {
		full := filepath.Join(root, path)
		info, err := os.Stat(full)
		if err := errors.Join(err, os.Chmod(full, 0)); err != nil {
			return "", err
		}
		tell(path+" searched", search("Below"))
		tell(path+" status", call("status", map[string]any{}))
		tell(path+" why", call("why", map[string]any{"path": path}))
		if err := os.Chmod(full, info.Mode()); err != nil {
			return "", err
		}
		tell(path+" again", search("Seen"))
	}
	return story.String(), err
}

// Promise 1: a file or directory that this user may not read any more is named by every
// verdict, which is behind while it lasts; status and why say the same.
func TestWhatMayNotBeReadIsBehind(t *testing.T) {
	t.Parallel()
	const want = `readable: current, 0 pending []
a.go searched: behind, 1 pending [a.go], next a.go
a.go status: behind, 1 pending [a.go], next a.go
a.go why: behind, 1 pending [a.go], next <nil>, seen false, searchable false
a.go again: current, 0 pending []
sub searched: behind, 1 pending [sub], next sub
sub status: behind, 1 pending [sub], next sub
sub why: behind, 1 pending [sub], next <nil>, seen false, searchable false
sub again: current, 0 pending []
`
	dir, err := os.MkdirTemp("/tmp", "kept")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var story string
	if os.Geteuid() != 0 {
		if story, err = lockedOut(dir); err != nil {
			t.Fatal(err)
		}
	} else { // who may read everything is locked out of nothing
		self, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(dir, "other")
		if err := errors.Join(os.Chmod(dir, 0o777), os.WriteFile(program, self, 0o755)); err != nil { //nolint:gosec // for the other user
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Dir, cmd.Env = dir, []string{lockOut + "=" + dir, "HOME=" + dir, "TMPDIR=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		out, err := cmd.CombinedOutput()
		if story = string(out); err != nil {
			t.Fatalf("%v: %s", err, story)
		}
	}
	if story != want {
		t.Errorf("the answers are\n%swant\n%s", story, want)
	}
}
