package host

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/scan"
)

// TestDataDirectoryInATreeIsNeverShown: the data directory of the process itself, known by
// device and inode whatever its name and its marker, and that of another, known by the
// marker, are left out of scans, live reads, searches and exports, and why names the reason.
func TestDataDirectoryInATreeIsNeverShown(t *testing.T) {
	t.Parallel()
	root := tree(t)
	own, other := filepath.Join(root, "pkg0/state"), filepath.Join(root, "pkg1/deep/other")
	write(t, root, "pkg1/deep/x.go", "package deep\n")
	write(t, root, ".gitignore", "/pkg2/ignored/\n")
	ignored := filepath.Join(root, "pkg2/ignored/home")
	var paths []string
	for _, home := range []string{own, other, ignored} {
		check(t, os.MkdirAll(home, 0o700))
		if home != own {
			lock, err := datadir.Lock(home) // as another process leaves it
			check(t, err)
			check(t, lock.Close())
		}
		relative, err := filepath.Rel(root, home)
		check(t, err)
		for _, name := range []string{"token", "notes.go", "below/keys.go"} {
			write(t, home, name, "package keys\n\nconst Key = \"CANARY\"\n")
			paths = append(paths, filepath.Join(relative, name))
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(own, link))
	s, logged := connectLogged(t, Options{Home: link, Watch: true})
	check(t, os.Remove(filepath.Join(own, scan.DataMarker)))
	id := must(t, s, "index", map[string]any{"path": root}).Codebase.ID
	host, err := s.hosting()
	check(t, err)
	codebase, err := host.store.Codebase(t.Context(), id)
	check(t, err)
	shows := func(reader, path, text string) {
		t.Helper()
		if strings.Contains(text, "CANARY") {
			t.Errorf("%s shows %s", reader, path)
		}
	}
	for _, path := range paths {
		shows("read", path, answerOf(t, s, "read", map[string]any{"targets": []string{path}, "codebase": root}))
		why := answerOf(t, s, "why", map[string]any{"path": path, "codebase": root})
		shows("why", path, why)
		if !strings.Contains(why, "data directory") && !strings.HasPrefix(path, "pkg2/") {
			t.Errorf("why of %s does not name the reason: %s", path, why)
		}
		if file, err := host.files.Live(t.Context(), codebase, path); err != nil || file.LeftOut != store.LeftOutData || file.Data != nil {
			t.Errorf("%s is read live with %q, %v", path, file.LeftOut, err)
		}
		if state, err := host.files.Compare(t.Context(), codebase, path, sha256.Sum256([]byte("package keys\n\nconst Key = \"CANARY\"\n"))); err != nil || state == tool.DiskSame {
			t.Errorf("%s is compared as %v, %v", path, state, err)
		}
		if _, err := host.store.File(t.Context(), codebase.ID, codebase.Latest, path); err == nil {
			t.Errorf("%s is in the snapshot", path)
		}
	}
	for _, mode := range []string{"text", "regex", "path"} {
		answer := must(t, s, "search", map[string]any{"query": "Key", "mode": mode, "codebase": root, "limit": 50})
		if len(answer.Results) > 0 && mode != "path" {
			t.Errorf("search %s finds %+v", mode, answer.Results)
		}
	}
	shows("export", root, answerOf(t, s, "export", map[string]any{"codebase": root}))
	shows("the log", root, logged.String())
	if report := must(t, s, "status", map[string]any{"codebase": root}); (*report.Codebases)[0].Counts.LeftOut[store.LeftOutData] != 2 {
		t.Errorf("status counts %+v", (*report.Codebases)[0].Counts.LeftOut)
	}
	if answer, err := s.Call(t.Context(), "index", map[string]any{"path": other}, nil); err != nil || answer.Error == nil || !strings.Contains(answer.Error.Message, "data directory") {
		t.Errorf("another's data directory is registered: %+v, %v", answer, err)
	}
}
