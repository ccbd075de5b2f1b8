// Package pgtest gives tests a PostgreSQL with pgvector: the server that
// FRESHET_TEST_DATABASE_URL names, as a role that may make databases and roles. Without it
// tests are skipped, or fail where FRESHET_TEST_REQUIRE names postgres. `make test` starts
// a server of its own.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The environment of the tests.
const (
	URLEnv     = "FRESHET_TEST_DATABASE_URL"
	RequireEnv = "FRESHET_TEST_REQUIRE"
)

// ErrNoServer says that no server was named.
var ErrNoServer = errors.New("no PostgreSQL: set " + URLEnv + ", or run make test, which starts one")

// Database makes an empty database for a test and drops it when the test ends. It returns
// its URL.
func Database(t testing.TB) string {
	t.Helper()
	database, drop, err := New(t.Context())
	Need(t, err)
	t.Cleanup(func() {
		if err := drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return database
}

// Need ends a test that has no server: it is skipped, unless a server is required.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrNoServer) && !slices.Contains(strings.Split(os.Getenv(RequireEnv), ","), "postgres"):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// New makes an empty database with pgvector, for the tests of a package. drop removes it,
// whoever is still connected. It returns ErrNoServer when there is none.
func New(ctx context.Context) (database string, drop func(context.Context) error, err error) {
	base := os.Getenv(URLEnv)
	if base == "" {
		return "", nil, ErrNoServer
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", nil, fmt.Errorf("%s is not a URL", URLEnv)
	}
	name := "freshet_" + strings.ToLower(rand.Text()[:16])
	if err := run(ctx, base, "CREATE DATABASE "+name); err != nil {
		return "", nil, fmt.Errorf("make database: %w", err)
	}
	u.Path = "/" + name
	drop = func(ctx context.Context) error {
		if err := run(ctx, base, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("drop database: %w", err)
		}
		return nil
	}
	if err := run(ctx, u.String(), "CREATE EXTENSION vector"); err != nil {
		return "", nil, errors.Join(fmt.Errorf("make the extension pgvector: %w", err), drop(ctx))
	}
	return u.String(), drop, nil
}

// Psql runs a script with psql on a database, stops at its first error, and returns the lines
// that it prints.
func Psql(t testing.TB, database, script string) []string {
	t.Helper()
	program := "psql"
	if programs := os.Getenv(ProgramsEnv); programs != "" {
		program = filepath.Join(programs, program)
	}
	cmd := exec.CommandContext(t.Context(), program, "--no-psqlrc", "-Atq", "--set=ON_ERROR_STOP=1", database)
	cmd.Stdin = strings.NewReader(script)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil { // what else it says are notices
		t.Fatalf("psql: %v: %s", err, errs.String())
	}
	return strings.Fields(string(out))
}

// run runs one statement on a connection of its own.
func run(ctx context.Context, database, statement string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Mentions counts, by table, the rows of a database that hold a text in any column, as
// text or as bytes, and the rows in all. It looks as the role of the URL.
func Mentions(t testing.TB, database, text string) (mentions, rows map[string]int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	found, err := conn.Query(t.Context(), `SELECT relname::text FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	mentions, rows = map[string]int{}, map[string]int{}
	for _, table := range tables {
		var n, all int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FILTER (WHERE x::text LIKE '%' || $1::text || '%' OR x::text LIKE '%' || encode(convert_to($1::text, 'UTF8'), 'hex') || '%'), count(*) FROM "+
			pgx.Identifier{table}.Sanitize()+" AS x", text).Scan(&n, &all)
		if err != nil {
			t.Fatal(err)
		}
		rows[table] = all
		if n > 0 {
			mentions[table] = n
		}
	}
	return mentions, rows
}
