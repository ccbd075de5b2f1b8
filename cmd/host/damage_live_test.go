package host

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/doctor"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store/search"
)

// Damage of the log under a live host never makes an answer wrong: every edit after it is
// found, and proven. Files that are gone are noticed and the log begins anew while the host
// runs, which an answer and the status tell. Bytes that change in place are not noticed
// before the log reads them again: at the latest the next start does, and nothing is lost.
func TestLogDamagedUnderALiveHost(t *testing.T) {
	t.Parallel()
	blocks := func(t *testing.T, home string, damage func(path string, size int64) error) {
		t.Helper()
		paths, err := filepath.Glob(filepath.Join(home, datadir.LogName, "jetstream", "$G", "streams", "freshet-default", "msgs", "*.blk"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("blocks %v, %v", paths, err)
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			check(t, err)
			check(t, damage(path, info.Size()))
		}
	}
	cases := []struct {
		name    string
		noticed bool // while the host runs
		damage  func(t *testing.T, home string)
	}{
		{"stream removed", true, func(t *testing.T, home string) {
			check(t, os.RemoveAll(filepath.Join(home, datadir.LogName, "jetstream", "$G", "streams", "freshet-default")))
		}},
		{"blocks removed", true, func(t *testing.T, home string) {
			blocks(t, home, func(path string, _ int64) error { return os.Remove(path) })
		}},
		{"blocks truncated", false, func(t *testing.T, home string) {
			blocks(t, home, func(path string, size int64) error { return os.Truncate(path, size/2) })
		}},
		{"blocks zeroed", false, func(t *testing.T, home string) {
			blocks(t, home, func(path string, size int64) error {
				f, err := os.OpenFile(path, os.O_WRONLY, 0)
				check(t, err)
				_, err = f.WriteAt(make([]byte, size), 0)
				check(t, err)
				return f.Close()
			})
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home, root := t.TempDir(), tree(t)
			s := rare(t, home)
			must(t, s, "index", map[string]any{"path": root, "wait": true})
			c.damage(t, home)
			edits := 0
			edit := func() {
				edits++
				word := "latecomer" + strings.Repeat("x", edits)
				write(t, root, "pkg0/late.go", "package pkg\n\nfunc "+word+"() {}\n")
				if paths, state := find(t, s, root, word); paths != "pkg0/late.go" || state != string(search.CaughtUp) && state != string(search.Current) {
					t.Fatalf("edit %d is found in %q, %s", edits, paths, state)
				}
			}
			reset := func() *tool.LogReset {
				status := must(t, s, "status", map[string]any{"codebase": root})
				return (*status.Codebases)[0].Log.Reset
			}
			edit()
			deadline := time.Now().Add(5 * time.Minute)
			for c.noticed && reset() == nil {
				if time.Now().After(deadline) {
					t.Fatal("the damage was never noticed")
				}
				edit()
			}
			edit()
			t.Logf("after %d edits: %+v", edits, reset())
			check(t, s.Close())
			s = rare(t, home)
			edit()
			if v := must(t, s, "verify", map[string]any{"codebase": root}); !v.Equal {
				t.Errorf("after the next start: %+v", v.Verification)
			}
		})
	}
}

// A codebase whose row is damaged costs itself: the host opens, another codebase is served,
// and status and doctor name the damaged one and the way out.
func TestDamagedCodebaseCostsItself(t *testing.T) {
	t.Parallel()
	home, good, bad := t.TempDir(), tree(t), tree(t)
	s := rare(t, home)
	must(t, s, "index", map[string]any{"path": good, "wait": true})
	must(t, s, "index", map[string]any{"path": bad, "wait": true})
	check(t, s.Close())
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, datadir.StoreName, "freshet.db"))
	check(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE codebases SET sum = ~sum WHERE CAST(root AS TEXT) = ?", bad)
	check(t, err)
	check(t, db.Close())
	s = rare(t, home)
	write(t, good, "pkg0/late.go", "package pkg\n\nfunc Latecomer() {}\n")
	if paths, state := find(t, s, good, "latecomer"); paths != "pkg0/late.go" || state != string(search.CaughtUp) {
		t.Errorf("the other codebase finds %q, %s", paths, state)
	}
	told := ""
	for _, b := range *must(t, s, "status", map[string]any{}).Codebases {
		if b.Codebase.Root == bad {
			told = b.Failure
		}
	}
	if !strings.Contains(told, "verify --repair") {
		t.Errorf("status says %q", told)
	}
	for _, f := range doctor.Diagnose(t.Context(), doctor.Options{Home: home, Version: "test"}, good) {
		if f.Check == "store" && f.Grade == tool.GradeGood {
			t.Errorf("doctor: %+v", f)
		}
	}
}
