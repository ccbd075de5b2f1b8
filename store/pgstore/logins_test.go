package pgstore

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// TestLoginCannotNameAnotherTenant gives two tenants a login each, and has the one attack the
// other with all that its login may do: it names the tenant in the setting, takes the role
// of the application, calls the functions of the owner and opens a store of that name.
func TestLoginCannotNameAnotherTenant(t *testing.T) {
	t.Parallel()
	own := pgtest.Database(t)
	app, _ := newLogin(t, own)
	starting(t, own, Options{Role: app, Tenant: "setup"})
	super := rawConn(t, own, "")
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := super.Exec(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	logins := map[string]string{}
	for _, tenant := range []string{"one", "two"} {
		role, login := newLogin(t, own)
		exec("GRANT " + app + " TO " + role)
		exec("INSERT INTO schema_logins VALUES ($1, $2)", role, tenant)
		logins[tenant] = login
	}
	one := starting(t, logins["one"], Options{Role: app, CandidatesFrom: 1, Tenant: "one"})
	two := starting(t, logins["two"], Options{Role: app, CandidatesFrom: 1, Tenant: "two"})
	for _, s := range []*Store{one, two} {
		fill(t, s, "a")
		nearTree(t, s, 1, 2, 8)
		if err := s.IndexCandidates(t.Context(), "near", 1); err != nil {
			t.Fatal(err)
		}
	}
	sets := count(t, super, "SELECT count(*) FROM nearest_sets WHERE tenant = 'one'")
	set := count(t, super, "SELECT min(id) FROM nearest_sets WHERE tenant = 'one'")

	for _, role := range []string{"", app} {
		attacker := rawConn(t, logins["two"], role)
		if _, err := attacker.Exec(t.Context(), "SELECT set_config('freshet.tenant', 'one', false)"); err != nil {
			t.Fatal(err)
		}
		for _, table := range tables(t, super) {
			if n := count(t, attacker, "SELECT count(*) FROM "+table+" WHERE tenant = 'one'"); n != 0 {
				t.Errorf("as %q: %s shows %d rows of another tenant", role, table, n)
			}
			if n := count(t, attacker, "SELECT count(*) FROM "+table+" WHERE tenant = 'two'"); n == 0 {
				t.Errorf("as %q: %s shows the tenant nothing of its own", role, table)
			}
			if tag, err := attacker.Exec(t.Context(), "DELETE FROM "+table+" WHERE tenant = 'one'"); err != nil || tag.RowsAffected() != 0 {
				t.Errorf("as %q: delete from %s: %s, %v", role, table, tag, err)
			}
		}
		for _, statement := range []string{
			"INSERT INTO recipes (tenant, fingerprint, body) VALUES ('one', 'x', '')",
			"UPDATE schema_logins SET tenant = 'one'", "INSERT INTO schema_logins VALUES ('x', 'one')", "DELETE FROM schema_logins",
			"CREATE OR REPLACE FUNCTION session_tenant() RETURNS text LANGUAGE sql AS 'SELECT ''one'''",
			"SET SESSION AUTHORIZATION postgres",
		} {
			_, err := attacker.Exec(t.Context(), statement)
			if e := new(pgconn.PgError); !errors.As(err, &e) || e.Code != "42501" {
				t.Errorf("as %q: %s: %v, want that it is not permitted", role, statement, err)
			}
		}
		if _, err := attacker.Exec(t.Context(), "SELECT nearest_open('attack', 'f', 8), nearest_drop($1)", set); err != nil {
			t.Errorf("as %q: the functions of the owner: %v", role, err)
		}
		if n := count(t, super, "SELECT count(*) FROM nearest_sets WHERE tenant = 'one'"); n != sets {
			t.Errorf("as %q: the other tenant has %d sets, had %d", role, n, sets)
		}
	}
	if s, err := Open(t.Context(), logins["two"], Options{Role: app, Tenant: "one"}); err == nil {
		if all, err := s.Codebases(t.Context()); err == nil && len(all) > 0 {
			t.Errorf("a store of another tenant's name shows %v", all)
		}
		_ = s.Close()
	}
	for _, s := range []*Store{one, two} {
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("tenant %s: %v", s.tenant, err)
		}
	}
}
