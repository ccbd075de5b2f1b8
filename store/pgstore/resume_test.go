package pgstore

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// deadly has those commands of migrations end their connection whose numbers are in a
// table, as the death of their process does: every command that makes or changes something
// is counted, those in the blocks of a file as well.
const deadly = `CREATE SCHEMA deadly; CREATE SEQUENCE deadly.commands; CREATE TABLE deadly.last (n bigint);
	CREATE FUNCTION deadly.die() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('deadly.commands') IN (SELECT n FROM deadly.last) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
	END $$;
	CREATE EVENT TRIGGER deadly ON ddl_command_end EXECUTE FUNCTION deadly.die()`

// reached is how far the migrations of a database came, -1 without a ledger, and what they
// made.
func reached(t *testing.T, conn *pgx.Conn) (version int, made string) {
	t.Helper()
	version = -1
	if count(t, conn, "SELECT count(*) FROM pg_tables WHERE tablename = 'schema_versions'") > 0 {
		version = count(t, conn, "SELECT coalesce(max(version), 0) FROM schema_checksums")
	}
	err := conn.QueryRow(t.Context(), `SELECT concat_ws(' ',
		(SELECT string_agg(relname || relkind::text || relrowsecurity || relforcerowsecurity, ' ' ORDER BY relname) FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema\_%'),
		(SELECT string_agg(attrelid::regclass || '.' || attname || attstorage::text, ' ' ORDER BY attrelid::regclass::text, attnum) FROM pg_attribute
			JOIN pg_class AS c ON c.oid = attrelid WHERE relnamespace = 'public'::regnamespace AND relname NOT LIKE 'schema\_%'),
		(SELECT string_agg(polrelid::regclass || pg_get_expr(polqual, polrelid), ' ' ORDER BY polrelid::regclass::text) FROM pg_policy),
		(SELECT string_agg(prosrc || proacl::text, ' ' ORDER BY proname) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'nearest%'))`,
	).Scan(&made)
	if err != nil {
		t.Fatal(err)
	}
	return version, made
}

// TestMigrationsResume ends the connection of this binary's own migrations at each command,
// one process after the other. None leaves half a migration, and the last ends with what a
// database has whose migrations met no harm.
func TestMigrationsResume(t *testing.T) {
	t.Parallel()
	own, clean := pgtest.Database(t), pgtest.Database(t)
	conn, files := rawConn(t, own, ""), newer(t)
	if _, err := conn.Exec(t.Context(), deadly); err != nil {
		t.Fatal(err)
	}
	at, before := -1, ""
	ends := map[int]int{}
	for command := 1; ; command++ {
		_, err := conn.Exec(t.Context(), fmt.Sprintf("SELECT setval('deadly.commands', 1, false); DELETE FROM deadly.last; INSERT INTO deadly.last VALUES (%d)", command))
		if err != nil {
			t.Fatal(err)
		}
		err = apply(t, own, files)
		if err == nil {
			break
		}
		if command > 1000 {
			t.Fatal(err)
		}
		version, made := reached(t, conn)
		if version == at && made != before && ends[at] > 0 {
			t.Fatalf("command %d after version %d: there is %s, before there was %s", command, at, made, before)
		}
		ends[version]++
		if version > at { // the next one begins with its first command
			command = 0
		}
		at, before = version, made
	}
	if err := apply(t, clean, files); err != nil {
		t.Fatal(err)
	}
	version, made := reached(t, conn)
	if wantVersion, want := reached(t, rawConn(t, clean, "")); version != wantVersion || made != want {
		t.Errorf("version %d has %s, want version %d with %s", version, made, wantVersion, want)
	}
	t.Logf("ended so often after each version: %v", ends)
	for version := range len(files) - 1 {
		if ends[version] == 0 {
			t.Errorf("no migration ended after version %d", version)
		}
	}
}

// TestSeveralResumeAtOnce opens one empty database from several sides while migrations
// meet their end here and there: whoever is hit begins again, and all come to one schema.
func TestSeveralResumeAtOnce(t *testing.T) {
	t.Parallel()
	own, clean := pgtest.Database(t), pgtest.Database(t)
	conn := rawConn(t, own, "")
	if _, err := conn.Exec(t.Context(), deadly+"; INSERT INTO deadly.last VALUES (2), (9), (50), (99), (140), (190), (220), (250), (280)"); err != nil {
		t.Fatal(err)
	}
	stores := make([]*Store, 5)
	var g errgroup.Group
	for i := range stores {
		g.Go(func() error {
			return again(func() (err error) {
				stores[i], err = Open(t.Context(), own, Options{Role: "freshet_test_app"})
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	commands := count(t, conn, "SELECT last_value FROM deadly.commands")
	if _, err := conn.Exec(t.Context(), "DROP SCHEMA deadly CASCADE"); err != nil {
		t.Fatal(err)
	}
	for i, s := range stores {
		t.Cleanup(func() { _ = s.Close() })
		if s.Epoch() != stores[0].Epoch() {
			t.Errorf("epochs %s and %s of one store", s.Epoch(), stores[0].Epoch())
		}
		fill(t, s, store.CodebaseID(fmt.Sprint("c", i)))
	}
	starting(t, clean, Options{Role: "freshet_test_app"})
	version, made := reached(t, conn)
	if wantVersion, want := reached(t, rawConn(t, clean, "")); version != wantVersion || made != want {
		t.Errorf("version %d has %s, want version %d with %s", version, made, wantVersion, want)
	}
	t.Logf("%d commands", commands)
}
