package host

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
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
