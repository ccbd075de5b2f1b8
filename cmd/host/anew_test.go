package host

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
)

// join opens a session on a data directory whose vectors are made by a service.
func (e *distant) join(t *testing.T, home string) *Session {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	s := NewSession(Options{Home: home, Version: "test", ChunkCommand: []string{self, asChild}, Provider: e.provider})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close session: %v", err)
		}
	})
	return s
}

// patient makes a call that may be refused. It ends within minutes, or the test fails.
func patient(t *testing.T, s *Session, verb string, params map[string]any) *tool.Envelope {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	envelope, err := s.Call(ctx, verb, params, nil)
	if ctx.Err() != nil {
		t.Fatalf("%s hangs: %v", verb, err)
	}
	if err != nil {
		return tool.Failed(tool.AsError(err))
	}
	return envelope
}

// eachPage changes the pages of a closed database that hold a text.
func eachPage(t *testing.T, home, text string, change func(page []byte)) {
	t.Helper()
	path := filepath.Join(home, datadir.StoreName, "freshet.db")
	data, err := os.ReadFile(path)
	check(t, err)
	found := false
	const size = 8192
	for at := 0; at+size <= len(data); at += size {
		if page := data[at : at+size]; bytes.Contains(page, []byte(text)) {
			found = true
			change(page)
		}
	}
	if !found {
		t.Fatalf("no page holds %q", text)
	}
	check(t, os.WriteFile(path, data, 0o600))
}

// `verify --repair` gets out of a store with damaged pages and of one that does not open:
// it keeps the damaged one and says so, the new one has every registration, and no text is
// embedded whose vector can be read from the old one.
func TestRepairReplacesADamagedStoreAndEmbedsNothingAgain(t *testing.T) {
	t.Parallel()
	path := func(home string) string { return filepath.Join(home, datadir.StoreName, "freshet.db") }
	cases := []struct {
		name   string
		damage func(t *testing.T, home string)
	}{
		{"header", func(t *testing.T, home string) {
			eachPage(t, home, "SQLite format 3\x00", func(page []byte) { clear(page) })
		}},
		{"schema", func(t *testing.T, home string) {
			eachPage(t, home, "SQLite format 3\x00", func(page []byte) { clear(page[100:]) })
		}},
		{"manifest", func(t *testing.T, home string) {
			eachPage(t, home, "pkg1/file1.go", func(page []byte) { clear(page) })
		}},
		{"half of it", func(t *testing.T, home string) {
			info, err := os.Stat(path(home))
			check(t, err)
			check(t, os.Truncate(path(home), info.Size()-8192*3))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newDistant(t)
			home, root := t.TempDir(), tree(t)
			s := e.join(t, home)
			must(t, s, "index", map[string]any{"path": root, "wait": true})
			check(t, s.Close())
			paid := e.texts.Load()
			c.damage(t, home)
			s = e.join(t, home)
			done := patient(t, s, "verify", map[string]any{"codebase": root, "repair": true})
			if done.Error != nil || !done.Equal || len(done.Kept) != 1 || !strings.Contains(done.Kept[0], "rm -r ") {
				data, _ := json.Marshal(done)
				t.Fatalf("verify --repair: %s", data)
			}
			if n := e.texts.Load() - paid; n > 0 && c.name != "half of it" {
				t.Errorf("%d texts were embedded again", n)
			}
			if paths, state := find(t, s, root, "name3"); !strings.HasPrefix(paths, "pkg0/file3.go") || state != "current" {
				t.Errorf("afterwards name3 is found in %q, %s", paths, state)
			}
		})
	}
}

// A repair of a codebase whose digest differs from that of a rebuild makes its syntaxes again
// and pays a provider for no text a second time: vectors are kept by text.
func TestRepairOfADifferingDigestPaysForNothing(t *testing.T) {
	t.Parallel()
	e := newDistant(t)
	home, root := t.TempDir(), tree(t)
	s := e.join(t, home)
	must(t, s, "index", map[string]any{"path": root, "wait": true})
	check(t, s.Close())
	paid := e.texts.Load()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, datadir.StoreName, "freshet.db"))
	check(t, err)
	_, err = db.ExecContext(t.Context(), "DELETE FROM syntaxes WHERE id = (SELECT min(id) FROM syntaxes)")
	check(t, err)
	check(t, db.Close())
	s = e.join(t, home)
	done := patient(t, s, "verify", map[string]any{"codebase": root, "repair": true})
	if done.Error != nil || !done.Repaired || done.DigestIndex == done.DigestRebuilt {
		t.Fatalf("verify --repair: %+v, %v", done.Verification, done.Error)
	}
	if v := must(t, s, "verify", map[string]any{"codebase": root}); !v.Equal {
		t.Errorf("afterwards: %+v", v.Verification)
	}
	if n := e.texts.Load() - paid; n != 0 {
		t.Errorf("%d texts were paid for again", n)
	}
}

// What agents were shown goes on after the store was made anew, and the pinned snapshots,
// which the new store does not have, are named.
func TestRepairCarriesSessionsAndNamesLostPins(t *testing.T) {
	t.Parallel()
	e := newDistant(t)
	home, root := t.TempDir(), tree(t)
	s := e.join(t, home)
	must(t, s, "index", map[string]any{"path": root, "wait": true})
	must(t, s, "search", map[string]any{"query": "name3", "mode": "text", "codebase": root, "session_id": "carried"})
	must(t, s, "snapshots", map[string]any{"codebase": root, "action": "pin", "number": 1})
	check(t, s.Close())
	before := sessionsOf(t, home)
	if len(before) != 1 {
		t.Fatalf("sessions before: %q", before)
	}
	eachPage(t, home, "pkg1/file1.go", func(page []byte) { clear(page) })
	s = e.join(t, home)
	done := patient(t, s, "verify", map[string]any{"codebase": root, "repair": true})
	if done.Error != nil || len(done.Kept) != 1 || !strings.Contains(done.Kept[0], "only it has the pinned snapshots 1 of ") {
		t.Fatalf("verify --repair: %+v, %v", done.Verification, done.Error)
	}
	check(t, s.Close())
	if after := sessionsOf(t, home); !slices.Equal(before, after) {
		t.Errorf("sessions %q before and %q after the repair", before, after)
	}
}

// sessionsOf reads the sessions of a data directory without a host.
func sessionsOf(t *testing.T, home string) (rows []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, datadir.StoreName, "freshet.db")+"?mode=ro")
	check(t, err)
	found, err := db.QueryContext(t.Context(), "SELECT id, until, hex(body) FROM sessions ORDER BY id")
	check(t, err)
	for found.Next() {
		var id, body string
		var until int64
		check(t, found.Scan(&id, &until, &body))
		rows = append(rows, fmt.Sprint(id, until, body))
	}
	check(t, errors.Join(found.Err(), found.Close(), db.Close()))
	return rows
}
