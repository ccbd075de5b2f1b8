package pgstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/migrations"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// apply migrates a database with a set of files.
func apply(t *testing.T, database string, files fs.FS) error {
	t.Helper()
	set, err := migrations.NewPostgresSet(files)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	return (&Store{}).migrate(t.Context(), config, set)
}

// steps are three migrations; die() is called between their statements.
func steps() fstest.MapFS {
	files := fstest.MapFS{}
	for i := 1; i <= 3; i++ {
		files[fmt.Sprintf("%05d_step.sql", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, `-- +goose Up
SELECT die();
CREATE TABLE step%[1]d (x INTEGER);
SELECT die();
INSERT INTO step%[1]d VALUES (%[1]d);
SELECT die();
-- +goose Down
DROP TABLE step%[1]d;
`, i)}
	}
	return files
}

// TestKilledAtEachStep ends the connection of a migration at every statement, as the death
// of its process does. The next one resumes.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	own := pgtest.Database(t)
	conn := rawConn(t, own, "")
	const calls = 3 * 3
	for last := 1; last <= calls; last++ {
		setup := fmt.Sprintf(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE SEQUENCE calls;
			CREATE FUNCTION die() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
				IF nextval('calls') = %d THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
			END $$`, last)
		if _, err := conn.Exec(t.Context(), setup); err != nil {
			t.Fatal(err)
		}
		if err := apply(t, own, steps()); err == nil {
			t.Fatalf("call %d: the migration was not ended", last)
		}
		if got := count(t, conn, "SELECT coalesce(max(version), 0) FROM schema_checksums"); got != (last-1)/3 {
			t.Fatalf("call %d: version after the end is %d, want %d", last, got, (last-1)/3)
		}
		if err := apply(t, own, steps()); err != nil {
			t.Fatalf("call %d: the next process did not resume: %v", last, err)
		}
		if got := count(t, conn, "SELECT max(version) FROM schema_checksums"); got != 3 {
			t.Fatalf("call %d: version is %d", last, got)
		}
	}
}

// TestSeveralStartAtOnce opens one empty database from several sides.
func TestSeveralStartAtOnce(t *testing.T) {
	t.Parallel()
	own := pgtest.Database(t)
	var g errgroup.Group
	stores := make([]*Store, 6)
	for i := range stores {
		g.Go(func() (err error) {
			stores[i], err = Open(t.Context(), own, Options{Role: "freshet_test_app", MaxConns: 2})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	for _, s := range stores {
		if s == nil {
			continue
		}
		if s.Epoch() != stores[0].Epoch() {
			t.Errorf("epochs %s and %s of one store", s.Epoch(), stores[0].Epoch())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// newer are the files of this binary and one more.
func newer(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{"99999_newer.sql": {Data: []byte("-- +goose Up\nCREATE TABLE newer (x int);\n-- +goose Down\nDROP TABLE newer;\n")}}
	source := os.DirFS("../../migrations/postgres")
	names, err := fs.Glob(source, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(source, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}

// TestNewerSchemaIsRefused migrates under a store that is open: it refuses to read and to
// write from then on, and another does not open.
func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	own := pgtest.Database(t)
	s, err := Open(t.Context(), own, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	fill(t, s, "a")
	if err := apply(t, own, newer(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Codebases(t.Context()); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("a read under a newer schema: %v", err)
	}
	if err := s.SetFailure(t.Context(), "a", "x"); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("a write under a newer schema: %v", err)
	}
	if _, err := Open(t.Context(), own, Options{}); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("opening a newer schema: %v", err)
	}
}

// TestNewerSchemaIsNoDamage renames a column under stores that read it, with a statement
// that is known to the connection, with one that is not, and in a transaction that began
// before: it is the newer schema that they tell of. Without a newer version it is damage.
func TestNewerSchemaIsNoDamage(t *testing.T) {
	t.Parallel()
	own := pgtest.Database(t)
	prepared, fresh := starting(t, own, Options{}), starting(t, own, Options{})
	fill(t, prepared, "a")
	read := func(s *Store) error {
		_, err := s.Content(t.Context(), contentOf("text of "+s.tenant).Hash)
		return err
	}
	if err := read(prepared); err != nil {
		t.Fatal(err)
	}
	files := newer(t)
	files["99999_newer.sql"].Data = []byte("-- +goose Up\nALTER TABLE contents RENAME COLUMN body TO bytes;\n")
	began := prepared.view(t.Context(), func(c *tx) error {
		if err := apply(t, own, files); err != nil {
			return err
		}
		_, err := c.one(t.Context(), "SELECT body FROM contents WHERE tenant = $1", nil, new([]byte))
		return err
	})
	for name, err := range map[string]error{"before": began, "prepared": read(prepared), "fresh": read(fresh)} {
		if !errors.Is(err, store.ErrNewerSchema) || errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v, want %v", name, err, store.ErrNewerSchema)
		}
	}
	if _, err := rawConn(t, own, "").Exec(t.Context(), "DELETE FROM schema_checksums WHERE version = 99999"); err != nil {
		t.Fatal(err)
	}
	if err := read(fresh); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a column that is gone: %v, want %v", err, store.ErrCorrupt)
	}
}

// TestEditedMigrationIsRefused changes a file after it was applied.
func TestEditedMigrationIsRefused(t *testing.T) {
	t.Parallel()
	own := pgtest.Database(t)
	files := newer(t)
	if err := apply(t, own, files); err != nil {
		t.Fatal(err)
	}
	files["99999_newer.sql"] = &fstest.MapFile{Data: append([]byte("-- edited\n"), files["99999_newer.sql"].Data...)}
	if err := apply(t, own, files); !errors.Is(err, store.ErrMigrationModified) {
		t.Errorf("an edited migration: %v", err)
	}
}

// TestDownAndUp undoes every migration and applies them again.
func TestDownAndUp(t *testing.T) {
	t.Parallel()
	own := pgtest.Database(t)
	conn := rawConn(t, own, "")
	const schema = `SELECT coalesce(string_agg(relname, ' ' ORDER BY relname), '') FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema\_%'`
	list := func() (names string) {
		if err := conn.QueryRow(t.Context(), schema).Scan(&names); err != nil {
			t.Fatal(err)
		}
		return names
	}
	files := newer(t)
	if err := apply(t, own, files); err != nil {
		t.Fatal(err)
	}
	before := list()
	if err := down(t, own, files); err != nil {
		t.Fatal(err)
	}
	if left := list(); left != "" {
		t.Errorf("left after the way down: %s", left)
	}
	if err := apply(t, own, files); err != nil {
		t.Fatal(err)
	}
	if after := list(); after != before || !strings.Contains(after, "manifest") {
		t.Errorf("tables after the way up again: %s, want %s", after, before)
	}
}

func down(t *testing.T, database string, files fstest.MapFS) error {
	t.Helper()
	set, err := migrations.NewPostgresSet(files)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	for range files {
		err = errors.Join(err, set.Down(t.Context(), db))
	}
	return errors.Join(err, db.Close())
}
