package natsbus_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
)

// holds reports whether a file below dir has the text.
func holds(t *testing.T, dir, text string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, b bus.Bus) (bodies []string) {
	t.Helper()
	err := b.Read(t.Context(), 1, 0, func(s bus.Stored) error {
		bodies = append(bodies, string(s.Data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

// A purged codebase cannot be read back out of the files of the log, whose server leaves
// the bytes where they are; the others stay readable, also after a restart.
func TestPurgeLeavesNothing(t *testing.T) {
	t.Parallel()
	small := `{"path":"needle/small.go"}`
	large := `{"path":"needle/` + strings.Repeat("large", 300) + `.go"}`
	dir := t.TempDir()
	b := open(t, natsbus.Options{Dir: dir})
	for _, id := range []store.CodebaseID{"ca", "cb"} {
		for i, body := range []string{small, large} {
			message := bus.Message{Codebase: id, Lane: bus.LaneSync, ID: string(id) + string(rune('0'+i)), Data: []byte(body)}
			if _, err := b.Publish(t.Context(), []bus.Message{message}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	before, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Purge(t.Context(), "ca", 0); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(before, []byte(`"ca"`)) || bytes.Contains(after, []byte(`"ca"`)) {
		t.Errorf("keys before the purge %s, after it %s", before, after)
	}
	for range 2 {
		if got := read(t, b); len(got) != 2 || got[0] != small || got[1] != large {
			t.Errorf("the other codebase has %q", got)
		}
		if holds(t, dir, "needle") {
			t.Error("a path can be read in the files of the log")
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		b = open(t, natsbus.Options{Dir: dir})
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// Without its keys a log cannot be read, and says so, as with any other damage.
func TestLostKeysAreNoticed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(path string) error
	}{
		{"gone", os.Remove},
		{"empty", func(path string) error { return os.Truncate(path, 0) }},
		{"of another log", func(path string) error {
			return os.WriteFile(path, []byte(`{"ca":"AAAAAAAAAAAAAAAAAAAAAA=="}`), 0o600)
		}},
		{"no key at all", func(path string) error { return os.WriteFile(path, []byte(`{"ca":"AA=="}`), 0o600) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := open(t, natsbus.Options{Dir: dir})
			message := bus.Message{Codebase: "ca", Lane: bus.LaneSync, ID: "1", Data: []byte("body")}
			if _, err := b.Publish(t.Context(), []bus.Message{message}, nil); err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if err := c.damage(filepath.Join(dir, "keys.json")); err != nil {
				t.Fatal(err)
			}
			b = open(t, natsbus.Options{Dir: dir})
			state, err := b.State(t.Context())
			if err != nil || !state.Gap {
				t.Errorf("state %+v, %v: the loss was not noticed", state, err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
