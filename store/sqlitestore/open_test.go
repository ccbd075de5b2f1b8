package sqlitestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/freshet/freshet/migrations"
	"github.com/freshet/freshet/store"
)

// schema is the released schema with more migrations.
func schema(t *testing.T, more map[string]string) *migrations.Set {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"00001_store.sql", "00002_sessions.sql", "00003_columns.sql"} {
		text, err := os.ReadFile("../../migrations/sqlite/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	for name, text := range more {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	set, err := migrations.NewSet(files, moveVersion2())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

const fifth = "-- +goose Up\nCREATE TABLE more (x INTEGER);\nPRAGMA user_version = 5;\n-- +goose Down\nDROP TABLE more;\nPRAGMA user_version = 4;\n"

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := open(t.Context(), dir, schema(t, map[string]string{"00005_more.sql": fifth}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.file())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, store.ErrNewerSchema) {
		t.Fatalf("a newer schema was opened: %v", err)
	}
	after, err := os.ReadFile(s.file())
	if err != nil || !bytes.Equal(before, after) {
		t.Fatalf("a refused open wrote (%v)", err)
	}
}

// The version in the database's header counts beside the ledger of migrations: a store
// that only one of them calls newer is not opened either.
func TestOpenChecksVersionInHeader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		version int
		want    error
	}{
		{"newer", 9, store.ErrNewerSchema},
		{"older than its tables", 0, store.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, err := Open(t.Context(), dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.writers.ExecContext(t.Context(), fmt.Sprintf("PRAGMA user_version = %d", c.version))
			if err = errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, c.want) {
				t.Errorf("opened with %v, want %v", err, c.want)
			}
		})
	}
}

func TestRunningStoreStopsAtNewerSchema(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir(), nil)
	if err := s.SetLogPosition(t.Context(), store.LogPosition{Incarnation: "before"}); err != nil {
		t.Fatal(err)
	}
	newer, err := open(t.Context(), s.Dir(), schema(t, map[string]string{"00005_more.sql": fifth}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = newer.Close() })
	if err := s.SetLogPosition(t.Context(), store.LogPosition{Incarnation: "after"}); !errors.Is(err, store.ErrNewerSchema) {
		t.Fatalf("an older store wrote: %v", err)
	}
	at, err := newer.LogPosition(t.Context())
	if err != nil || at.Incarnation != "before" {
		t.Fatalf("position is %v (%v)", at, err)
	}
}

func TestModifiedMigrationIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := open(t.Context(), dir, schema(t, map[string]string{"00005_more.sql": fifth}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	edited := schema(t, map[string]string{"00005_more.sql": fifth + "-- edited\n"})
	if _, err := open(t.Context(), dir, edited, Options{}); !errors.Is(err, store.ErrMigrationModified) {
		t.Fatalf("an edited migration was taken: %v", err)
	}
	if s, err = open(t.Context(), dir, schema(t, map[string]string{"00005_more.sql": fifth}), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestForeignFileIsCorrupt(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{"text": strings.Repeat("not a database ", 1000), "short": "SQL"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), dir, Options{})
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), repairAdvice) || !strings.Contains(err.Error(), fileName) {
			t.Errorf("%s: error is %v", name, err)
		}
		after, err := os.ReadFile(filepath.Join(dir, fileName))
		if err != nil || string(after) != data {
			t.Errorf("%s: a refused open wrote (%v)", name, err)
		}
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "store")
	build(t, dir, 2)
	s := openAt(t, dir, nil)
	if err := s.SetLogPosition(t.Context(), store.LogPosition{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", segmentDir} {
		mode(t, filepath.Join(dir, name), os.ModeDir|0o700)
	}
	for _, name := range append(regularFiles(t, dir), fileName+"-wal", fileName+"-shm") {
		mode(t, filepath.Join(dir, name), 0o600)
	}
}

func mode(t *testing.T, name string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil || info.Mode() != want {
		t.Errorf("%s: mode is %v, want %v (%v)", name, info.Mode(), want, err)
	}
}

func TestOrphanSegmentsAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build(t, dir, 2)
	want := regularFiles(t, dir)
	for _, name := range []string{"999.seg", "unfinished-1"} {
		if err := os.WriteFile(filepath.Join(dir, segmentDir, name), []byte("orphan"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openAt(t, dir, nil)
	if got := regularFiles(t, dir); len(got) != len(want) {
		t.Fatalf("files after open are %v, want %v", got, want)
	}
	orphan := filepath.Join(dir, segmentDir, "998.seg")
	if err := os.WriteFile(orphan, []byte("orphan"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Collect(t.Context(), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(orphan); !os.IsNotExist(err) {
		t.Fatalf("an orphan survived a collection: %v", err)
	}
}

func TestMissingSegmentIsCorrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build(t, dir, 1)
	s := openAt(t, dir, nil)
	view, err := s.View(t.Context(), testCodebase, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.segmentPath(view.Segments[0].ID)); err != nil {
		t.Fatal(err)
	}
	_, err = s.OpenSegment(t.Context(), view.Segments[0].ID)
	if !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("error is %v", err)
	}
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("check says %v", err)
	}
}

func TestSnapshotWithoutFingerprintIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build(t, dir, 1)
	s := openAt(t, dir, nil)
	err := s.change(t.Context(), func(r *rows) error {
		n, err := r.Snapshot(t.Context(), testCodebase, 1)
		if err != nil {
			return err
		}
		n.Fingerprint = ""
		return r.UpdateSnapshot(t.Context(), n)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.View(t.Context(), testCodebase, 1); !errors.Is(err, store.ErrNoFingerprint) {
		t.Fatalf("error is %v", err)
	}
}

func TestCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build(t, dir, 3)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != fileName && e.Name() != segmentDir {
			t.Errorf("close left %s", e.Name())
		}
	}
}

// TestCloseUnderLoad closes a store while others read and write: they end with
// store.ErrClosed and nothing else.
func TestCloseUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build(t, dir, 3)
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}, 8), make(chan error, 8)
	for i := range 8 {
		go func() {
			for round := 0; ; round++ {
				var err error
				if i < 6 {
					err = verifySnapshot(context.Background(), s, 3)
				} else {
					err = s.SetFailure(context.Background(), testCodebase, "reason")
				}
				if round == 3 {
					ready <- struct{}{}
				}
				if err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	for range 8 {
		<-ready
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 8 {
		if err := <-ended; !errors.Is(err, store.ErrClosed) {
			t.Errorf("a call ended with %v", err)
		}
	}
}
