package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/chunk"
)

// asChild is the argument that has the test binary serve as a chunk child of the hosts that
// it tests. It is no variable of the environment: the workers of the fuzzer inherit those.
const asChild = "chunk-child"

func TestMain(m *testing.M) {
	if dir := os.Getenv(lockOut); dir != "" {
		story, err := lockedOut(dir)
		if err != nil {
			story = err.Error()
		}
		_, _ = os.Stdout.WriteString(story)
		return
	}
	if len(os.Args) == 2 && os.Args[1] == asChild {
		if err := chunk.ServeChild(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// connect opens a session on a data directory that ends with the test, or earlier.
func connect(t *testing.T, home string) *Session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Connect(t.Context(), Options{Home: home, Version: "test", ChunkCommand: []string{self, asChild}})
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

// must makes a call that must succeed.
func must(t *testing.T, s *Session, verb string, params map[string]any) *tool.Envelope {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	envelope, err := s.Call(ctx, verb, params, nil)
	if err != nil {
		t.Fatalf("%s: %v", verb, err)
	}
	if envelope.Error != nil {
		t.Fatalf("%s: %v", verb, envelope.Error)
	}
	return envelope
}

// tree makes a directory with a few files.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for i := range 12 {
		write(t, root, fmt.Sprintf("pkg%d/file%d.go", i%3, i), fmt.Sprintf("package pkg\n\n// Name%d says %d.\nfunc Name%d() int { return %d }\n", i, i, i, i))
	}
	return root
}

func write(t *testing.T, root, path, content string) {
	t.Helper()
	full := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// find returns the paths that a word is found in, with the verdict.
func find(t *testing.T, s *Session, root, word string) (paths, state string) {
	t.Helper()
	envelope := must(t, s, "search", map[string]any{"query": word, "mode": "text", "codebase": root, "max_wait_ms": 300000})
	data, err := json.Marshal(envelope.Results)
	if err != nil {
		t.Fatal(err)
	}
	var hits []struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal(data, &hits); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, h := range hits {
		found = append(found, h.Path)
	}
	return strings.Join(found, " "), string(envelope.Freshness.State)
}

// Promise 1: a stream that was deleted, truncated, flipped by a byte or restored from an
// old copy is noticed and healed: the next search is right, whatever the log has become.
func TestDamagedStreamIsNoticedAndHealed(t *testing.T) {
	t.Parallel()
	damages := []struct {
		name   string
		damage func(t *testing.T, log, old string)
	}{
		{"deleted", func(t *testing.T, log, _ string) { check(t, os.RemoveAll(log)) }},
		{"restored from an old copy", func(t *testing.T, log, old string) {
			check(t, os.RemoveAll(log))
			check(t, os.CopyFS(log, os.DirFS(old)))
		}},
		{"flipped by a byte", func(t *testing.T, log, _ string) {
			eachBlock(t, log, func(path string, data []byte) {
				data[len(data)/2] ^= 0x40
				check(t, os.WriteFile(path, data, 0o600))
			})
		}},
		{"truncated", func(t *testing.T, log, _ string) {
			eachBlock(t, log, func(path string, data []byte) { check(t, os.Truncate(path, int64(len(data)/2))) })
		}},
	}
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			home, root := t.TempDir(), tree(t)
			s := connect(t, home)
			must(t, s, "index", map[string]any{"path": root, "wait": true})
			check(t, s.Close())
			old := filepath.Join(t.TempDir(), "old")
			check(t, os.CopyFS(old, os.DirFS(datadir.LogPath(home))))
			s = connect(t, home)
			write(t, root, "pkg0/late.go", "package pkg\n\nfunc Latecomer() {}\n")
			if paths, _ := find(t, s, root, "latecomer"); paths != "pkg0/late.go" {
				t.Fatalf("before the damage latecomer is found in %q", paths)
			}
			check(t, s.Close())

			d.damage(t, datadir.LogPath(home), old)
			s = connect(t, home)
			if paths, _ := find(t, s, root, "latecomer"); paths != "pkg0/late.go" {
				t.Errorf("after the damage latecomer is found in %q", paths)
			}
			write(t, root, "pkg1/after.go", "package pkg\n\nfunc Afterwards() {}\n")
			if paths, state := find(t, s, root, "afterwards"); paths != "pkg1/after.go" || state != "caught_up" {
				t.Errorf("an edit after the damage is found in %q, %s", paths, state)
			}
			envelope := must(t, s, "verify", map[string]any{"codebase": root})
			if data, _ := json.Marshal(envelope); !strings.Contains(string(data), `"equal":true`) {
				t.Errorf("verify after the damage: %s", data)
			}
			if reasons := baselines(t, s); len(reasons) != 1 || reasons[0] == "created" {
				t.Errorf("the log begins with %v after the damage, want one baseline that names it", reasons)
			} else {
				t.Logf("noticed as %s", reasons[0])
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eachBlock calls fn for every message block of the stream.
func eachBlock(t *testing.T, log string, fn func(path string, data []byte)) {
	t.Helper()
	found := false
	check(t, filepath.WalkDir(log, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".blk" {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && len(data) > 0 {
			found = true
			fn(path, data)
		}
		return err
	}))
	if !found {
		t.Fatal("the log has no block to damage")
	}
}

// baselines lists the reasons for which the log was begun anew.
func baselines(t *testing.T, s *Session) []string {
	t.Helper()
	var reasons []string
	for _, e := range *must(t, s, "events", map[string]any{}).Events {
		if e.Type == "stream.baseline" {
			reasons = append(reasons, strings.TrimPrefix(e.Summary, "the log begins: "))
		}
	}
	return reasons
}

// One process is the host, the others attach; when it ends another takes over, and a call
// in flight is made again.
func TestAttachedSessionTakesOver(t *testing.T) {
	t.Parallel()
	home, root := t.TempDir(), tree(t)
	first := connect(t, home)
	must(t, first, "index", map[string]any{"path": root, "wait": true})
	second := connect(t, home)
	if second.host != nil {
		t.Fatal("two sessions are hosts of one directory")
	}
	if paths, _ := find(t, second, root, "name3"); paths == "" {
		t.Error("an attached session finds nothing")
	}
	check(t, first.Close())
	write(t, root, "pkg2/new.go", "package pkg\n\nfunc Successor() {}\n")
	if paths, _ := find(t, second, root, "successor"); paths != "pkg2/new.go" {
		t.Errorf("after the host ended successor is found in %q", paths)
	}
	if second.host == nil {
		t.Error("the attached session did not become the host")
	}
}
