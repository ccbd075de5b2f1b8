package pgstore

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// TestLook surveys a database before its first use, with an older, the same and a newer
// schema, in use by each kind of role, and one that is away. It changes nothing.
func TestLook(t *testing.T) {
	t.Parallel()
	own := pgtest.Database(t)
	look := func(o Options) Survey {
		t.Helper()
		found, err := Look(t.Context(), own, o)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	empty := look(Options{Role: "freshet_no_such_role"})
	if empty.Version < 130000 || empty.Vector == "" || empty.RoundTrip <= 0 || empty.MaxConnections == 0 ||
		empty.Schema != 0 || empty.SchemaErr != nil || !empty.Role.Missing || empty.Ahead.Abs() > time.Minute {
		t.Errorf("an empty database: %+v", empty)
	}
	files := newer(t)
	delete(files, "99999_newer.sql")
	first := fstest.MapFS{"00001_store.sql": files["00001_store.sql"]}
	if err := apply(t, own, first); err != nil {
		t.Fatal(err)
	}
	if older := look(Options{}); older.Schema != 1 || older.Known < 2 || older.SchemaErr != nil {
		t.Errorf("an older schema: %+v", older)
	}
	s, err := Open(t.Context(), own, Options{Role: "freshet_test_app"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if same := look(Options{}); same.Schema != same.Known || !same.Role.Superuser || same.Role.Owns == 0 {
		t.Errorf("in use by its owner: %+v", same)
	}
	if app := look(Options{Role: "freshet_test_app"}).Role; app.Superuser || app.Owns != 0 || app.Lacks != 0 || app.Missing || app.Refused {
		t.Errorf("the role of the application: %+v", app)
	}
	if none := look(Options{}); none.Unpublished != 0 || none.Oldest != nil {
		t.Errorf("an empty outbox: %+v", none)
	}
	if err := s.PutOutbox(t.Context(), []store.OutboxEvent{
		{Codebase: "ca", Snapshot: 1, Data: []byte("first")}, {Codebase: "ca", Snapshot: 1, Part: 1, Data: []byte("second")},
	}); err != nil {
		t.Fatal(err)
	}
	if two := look(Options{}); two.Unpublished != 2 || string(two.Oldest) != "first" {
		t.Errorf("two events: %+v", two)
	}
	if other := look(Options{Tenant: "other"}); other.Unpublished != 0 {
		t.Errorf("another tenant: %+v", other)
	}
	late := look(Options{Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	if late.Ahead < 59*time.Minute || late.Ahead > 61*time.Minute {
		t.Errorf("the clock is ahead by %s", late.Ahead)
	}
	if err := apply(t, own, newer(t)); err != nil {
		t.Fatal(err)
	}
	if after := look(Options{}); !errors.Is(after.SchemaErr, store.ErrNewerSchema) || after.Schema != 99999 {
		t.Errorf("a newer schema: %+v", after)
	}
	for _, url := range []string{"postgres://me:hushhush@127.0.0.1:1/x", "postgres://me:hushhush@[bad/x"} {
		if _, err := Look(t.Context(), url, Options{}); err == nil || strings.Contains(err.Error(), "hushhush") {
			t.Errorf("a database that is away: %v", err)
		}
	}
}
