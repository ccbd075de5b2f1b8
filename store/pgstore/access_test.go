package pgstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/pgstore/pgtest"
	"github.com/freshet/freshet/sync/merkle"
)

// rawConn connects past the store, in a role when one is named.
func rawConn(t testing.TB, database, role string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	if role != "" {
		if _, err := conn.Exec(t.Context(), "SET ROLE "+role); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

func count(t *testing.T, conn *pgx.Conn, query string, args ...any) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func contentOf(text string) store.Content {
	return store.Content{Hash: sha256.Sum256([]byte(text)), Data: []byte(text)}
}

// tables lists the tables that hold rows of tenants.
func tables(t *testing.T, conn *pgx.Conn) (names []string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
		AND relkind IN ('r', 'p') AND NOT relispartition AND relname NOT LIKE 'schema\_%'`)
	if err != nil {
		t.Fatal(err)
	}
	names, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 15 {
		t.Fatalf("tables %v: %v", names, err)
	}
	return names
}

// fill writes one of everything for a tenant.
func fill(t *testing.T, s *Store, id store.CodebaseID) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Register(t.Context(), store.Codebase{ID: id, Name: "n", Root: "/" + string(id)})
	must(err)
	recipe := store.Recipe{Schema: 1, Chunker: "c"}
	c := contentOf("text of " + s.tenant)
	file := store.FileEntry{Path: "f", Content: c.Hash, Size: int64(len(c.Data))}
	_, err = s.Open(t.Context(), store.Opening{
		Codebase: id, Number: 1, Recipe: recipe, Upserts: []store.FileEntry{file}, Contents: []store.Content{c},
		Stats: []store.StatEntry{{Path: "f"}}, Events: []store.OutboxEvent{{Codebase: id, Snapshot: 1}},
	})
	must(err)
	key := store.SyntaxKey{Content: c.Hash, Version: recipe.SyntaxVersion("")}
	chunk := store.Chunk{End: 1, StartLine: 1, EndLine: 1, TextHash: c.Hash}
	must(s.PutSyntax(t.Context(), []store.SyntaxRecord{{Key: key, Syntax: store.Syntax{Cut: store.CutLines, Chunks: []store.Chunk{chunk}}}}))
	vector := store.VectorRecord{TextHash: c.Hash, Vector: store.Vector{Scale: 1, Data: []int8{1, -2, 3, 4}}}
	must(s.PutVectors(t.Context(), recipe.Embedding.Key(), []store.VectorRecord{vector}, []store.SyntaxKey{key}))
	segment, err := s.PutSegment(t.Context(), id, 2, 2, []byte("segment of "+s.tenant))
	must(err)
	must(s.Seal(t.Context(), store.Seal{
		Codebase: id, Number: 1, Level: store.LevelFull, Segments: []store.SegmentID{segment}, Dead: map[store.SegmentID][]uint32{segment: {1}},
	}))
	_, err = s.RecordFailure(t.Context(), store.Failure{Codebase: id, Path: "f", Stage: store.StageChunk}, true, nil)
	must(err)
	_, err = s.Acquire(t.Context(), "lease", "me", 1e9)
	must(err)
	must(s.PutSession(t.Context(), store.Session{ID: "s", Until: s.now().Add(1e12)}))
}

// partitions lists those that hold the candidates of stores.
func partitions(t *testing.T, conn *pgx.Conn, stores ...*Store) (names []string) {
	t.Helper()
	for _, s := range stores {
		names = append(names, fmt.Sprintf("nearest_%d", count(t, conn, "SELECT min(id) FROM nearest_sets WHERE tenant = $1", s.tenant)))
	}
	return names
}

// newLogin makes a role that may log in to a database of a test and nothing else, and goes
// with the test. It returns its name and its URL.
func newLogin(t *testing.T, own string) (role, login string) {
	t.Helper()
	role = "freshet_login_" + strings.ToLower(rand.Text()[:12])
	if _, err := rawConn(t, own, "").Exec(t.Context(), "CREATE ROLE "+role+" LOGIN"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, own)
		if err == nil {
			_, err = conn.Exec(ctx, "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role)
			err = errors.Join(err, conn.Close(ctx))
		}
		if err != nil {
			t.Error(err)
		}
	})
	return role, strings.Replace(own, "postgres@", role+"@", 1)
}

// TestRawSQLWithoutTenantSeesNoRow looks into every table past the store: as the role of
// the application, and as an owner that is no superuser.
func TestRawSQLWithoutTenantSeesNoRow(t *testing.T) {
	t.Parallel()
	t.Run("application", func(t *testing.T) {
		t.Parallel()
		options := Options{CandidatesFrom: 1}
		lookWithoutTenant(t, openTenant(t, options), openTenant(t, options), rawConn(t, database(t), ""), rawConn(t, database(t), "freshet_test_app"))
	})
	t.Run("owner", func(t *testing.T) {
		t.Parallel()
		own := pgtest.Database(t)
		role, login := newLogin(t, own)
		super := rawConn(t, own, "")
		if _, err := super.Exec(t.Context(), "GRANT ALL ON SCHEMA public TO "+role); err != nil {
			t.Fatal(err)
		}
		one, two := starting(t, login, Options{CandidatesFrom: 1, Tenant: "one"}), starting(t, login, Options{CandidatesFrom: 1, Tenant: "two"})
		lookWithoutTenant(t, one, two, super, rawConn(t, login, ""))
	})
}

// lookWithoutTenant fills two stores, and looks for their rows on a connection that no
// policy binds and on one that policies do.
func lookWithoutTenant(t *testing.T, one, two *Store, super, bound *pgx.Conn) {
	t.Helper()
	for _, s := range []*Store{one, two} {
		fill(t, s, "a")
		nearTree(t, s, 1, 2, 8)
		if err := s.IndexCandidates(t.Context(), "near", 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range tables(t, super) {
		if count(t, super, "SELECT count(*) FROM "+table+" WHERE tenant IN ($1, $2)", one.tenant, two.tenant) < 2 {
			t.Errorf("table %s was not filled", table)
		}
	}
	for _, table := range append(tables(t, super), partitions(t, super, one, two)...) {
		n := 0
		err := bound.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n)
		if e := new(pgconn.PgError); n != 0 || err != nil && (!errors.As(err, &e) || e.Code != "42501") {
			t.Errorf("table %s shows %d rows without a tenant: %v", table, n, err)
		}
		if count(t, super, "SELECT count(*) FROM pg_class WHERE oid = $1::text::regclass AND relrowsecurity AND relforcerowsecurity", table) != 1 {
			t.Errorf("table %s does not hold its owner to the policy", table)
		}
	}
	if _, err := bound.Exec(t.Context(), "SELECT set_config('freshet.tenant', $1, false)", one.tenant); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables(t, super) {
		if n := count(t, bound, "SELECT count(*) FROM "+table+" WHERE tenant <> $1", one.tenant); n != 0 {
			t.Errorf("table %s shows %d rows of other tenants", table, n)
		}
		if count(t, bound, "SELECT count(*) FROM "+table) == 0 {
			t.Errorf("table %s shows a tenant nothing of its own", table)
		}
	}
	_, err := bound.Exec(t.Context(), "INSERT INTO recipes (tenant, fingerprint, body) VALUES ($1, 'x', '')", two.tenant)
	if e := new(pgconn.PgError); !errors.As(err, &e) || e.Code != "42501" {
		t.Errorf("a row for another tenant: %v", err)
	}
}

// TestOlderPartitionsAreForced brings a schema up to date whose partitions did not hold
// their owner to the policy.
func TestOlderPartitionsAreForced(t *testing.T) {
	t.Parallel()
	own := pgtest.Database(t)
	files := newer(t)
	older := fstest.MapFS{"00001_store.sql": files["00001_store.sql"], "00002_nearest.sql": files["00002_nearest.sql"]}
	if err := apply(t, own, older); err != nil {
		t.Fatal(err)
	}
	conn := rawConn(t, own, "")
	open := func(codebase string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "SELECT set_config('freshet.tenant', 'x', false), nearest_open($1, 'f', 8)", codebase); err != nil {
			t.Fatal(err)
		}
	}
	const forced = "SELECT count(*) FROM pg_class WHERE relispartition AND relkind = 'r' AND relforcerowsecurity"
	open("before")
	if n := count(t, conn, forced); n != 0 {
		t.Fatalf("%d partitions are forced before", n)
	}
	if err := apply(t, own, files); err != nil {
		t.Fatal(err)
	}
	open("after")
	if n := count(t, conn, forced); n != 2 {
		t.Errorf("%d of 2 partitions are forced", n)
	}
}

// TestApplicationRoleOwnsNothing tries what only an owner may.
func TestApplicationRoleOwnsNothing(t *testing.T) {
	t.Parallel()
	fill(t, openTenant(t, Options{}), "a")
	app := rawConn(t, database(t), "freshet_test_app")
	if n := count(t, app, "SELECT count(*) FROM pg_class WHERE relowner = 'freshet_test_app'::regrole AND relpersistence <> 't'"); n != 0 {
		t.Errorf("the role of the application owns %d things", n)
	}
	for _, statement := range []string{
		"CREATE TABLE mine (x int)", "DROP TABLE vectors", "ALTER TABLE vectors ADD COLUMN x int", "TRUNCATE vectors",
		"ALTER TABLE vectors DISABLE ROW LEVEL SECURITY", "DROP POLICY tenant ON vectors", "CREATE INDEX mine ON vectors (text)",
		"UPDATE schema_checksums SET version = 0", "DELETE FROM schema_versions", "CREATE ROLE mine", "CREATE EXTENSION hstore",
	} {
		_, err := app.Exec(t.Context(), statement)
		if e := new(pgconn.PgError); !errors.As(err, &e) || e.Code != "42501" {
			t.Errorf("%s: %v, want that it is not permitted", statement, err)
		}
	}
}

// TestTenantsShareNothing fills two tenants with the same ids and looks from one at the
// other.
func TestTenantsShareNothing(t *testing.T) {
	t.Parallel()
	one, two := openTenant(t, Options{}), openTenant(t, Options{})
	fill(t, one, "a")
	h := contentOf("text of " + one.tenant).Hash
	if has, err := two.HasContents(t.Context(), []merkle.Hash{h}); err != nil || len(has) != 0 {
		t.Errorf("contents of another tenant: %v %v", has, err)
	}
	if found, err := two.Vectors(t.Context(), store.EmbeddingRecipe{}.Key(), []merkle.Hash{h}); err != nil || len(found) != 0 {
		t.Errorf("vectors of another tenant: %v %v", found, err)
	}
	view, err := one.View(t.Context(), "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.OpenSegment(t.Context(), view.Segments[0].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("segment of another tenant: %v", err)
	}
	fill(t, two, "a")
	if _, err := two.Collect(t.Context(), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if err := two.Clear(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := one.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if one.Epoch() == two.Epoch() {
		t.Error("two tenants have one epoch")
	}
}

// TestLoginThatMayNotMigrate opens a store as a login that may only work with rows.
func TestLoginThatMayNotMigrate(t *testing.T) {
	t.Parallel()
	own := pgtest.Database(t)
	role, login := newLogin(t, own)
	if _, err := Open(t.Context(), login, Options{}); err == nil {
		t.Fatal("a login without rights migrated")
	}
	owner, err := Open(t.Context(), own, Options{Role: role})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := Open(t.Context(), login, Options{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, worker, "a")
	if all, err := owner.Codebases(t.Context()); err != nil || len(all) != 1 || owner.Epoch() != worker.Epoch() {
		t.Errorf("the owner sees %v (%v)", all, err)
	}
	if err := errors.Join(worker.Close(), owner.Close(), owner.Close()); err != nil {
		t.Error(err)
	}
	if slices.Contains([]string{owner.Epoch(), worker.Epoch()}, "") {
		t.Error("a store without an epoch")
	}
}
