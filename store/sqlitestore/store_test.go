package sqlitestore

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/storetest"
	"github.com/freshet/freshet/sync/merkle"
)

// childEnv names what a re-executed test binary is to do instead of running tests.
const childEnv = "FRESHET_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "write":
		childWrites()
	case "fill":
		childFills()
	default:
		goleak.VerifyTestMain(m)
	}
}

// openAt opens a store that is closed with the test.
func openAt(t testing.TB, dir string, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	open := func(t *testing.T, now func() time.Time) store.Store { return openAt(t, t.TempDir(), now) }
	storetest.Run(t, open, storetest.Features{
		Reopen: func(t *testing.T, s store.Store, now func() time.Time) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, s.(*Store).Dir(), now)
		},
		Damage: func(t *testing.T, s store.Store, row storetest.Row, h merkle.Hash) {
			t.Helper()
			statement := map[storetest.Row]string{
				storetest.RowContent: "UPDATE contents SET size = size - 1 WHERE hash = ?",
				storetest.RowSyntax:  "UPDATE syntaxes SET body = substr(body, 1, length(body) - 1) || x'ff' WHERE content = ?",
				storetest.RowVector:  "UPDATE vectors SET body = substr(body, 1, length(body) - 1) || x'ff' WHERE text = ?",
			}[row]
			err := s.(*Store).write(t.Context(), func(c *session) error { return c.exec(statement, h[:]) })
			if err != nil {
				t.Fatal(err)
			}
		},
	})
}
