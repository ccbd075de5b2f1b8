package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// TestPrivate: what a server committed is there after it was killed.
func TestPrivate(t *testing.T) {
	t.Parallel()
	p := pgtest.StartPrivate(t)
	exec := func(statement string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), p.URL())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Error(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	exec("CREATE TABLE kept (v vector(3)); INSERT INTO kept VALUES ('[1,2,3]')")
	for range 2 {
		p.Kill()
		if conn, err := pgx.Connect(t.Context(), p.URL()); err == nil {
			t.Error("a server that was killed answers", conn.Close(t.Context()))
		}
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		exec("INSERT INTO kept SELECT v FROM kept LIMIT 1")
	}
}
