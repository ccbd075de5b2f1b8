package event

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the testdata files that are missing; never changes one")

func goldenName(t Type, version int) string {
	return filepath.Join("testdata", fmt.Sprintf("%s.v%d.json", t, version))
}

// TestEveryTypeAndVersionHasAFile keeps testdata complete: a new type or version comes with
// its file.
func TestEveryTypeAndVersionHasAFile(t *testing.T) {
	t.Parallel()
	events := samples()
	for i, kind := range Types() {
		if events[i].Type != kind {
			t.Fatalf("sample %d is a %s, want %s", i, events[i].Type, kind)
		}
		if *update {
			writeMissing(t, events[i])
		}
		for version := 1; version <= kind.Version(); version++ {
			if _, err := os.Stat(goldenName(kind, version)); err != nil {
				t.Errorf("run with -update: %v", err)
			}
		}
	}
}

func writeMissing(t *testing.T, e Event) {
	t.Helper()
	data, err := Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(goldenName(e.Type, e.Version), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append(data, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOldEventsDecodeForEver reads every file ever committed and writes it back unchanged.
func TestOldEventsDecodeForEver(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) < len(Types()) {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			raw = bytes.TrimSuffix(raw, []byte("\n"))
			e, err := Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if want := goldenName(e.Type, e.Version); name != want {
				t.Errorf("file %s holds what belongs into %s", name, want)
			}
			again, err := Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(raw), string(again)); diff != "" {
				t.Errorf("encoded again it differs (-file +encoded):\n%s", diff)
			}
		})
	}
}
