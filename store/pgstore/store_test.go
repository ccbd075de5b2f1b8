package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/pgstore/pgtest"
	"github.com/freshet/freshet/store/storetest"
	"github.com/freshet/freshet/sync/merkle"
)

// sharedDatabase names, within this process, the database of those tests that do with a
// tenant of their own.
const sharedDatabase = "FRESHET_STORE_TEST_DATABASE"

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	ctx := context.Background()
	database, drop, err := pgtest.New(ctx)
	if err == nil {
		defer func() {
			if err := drop(ctx); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}()
		err = os.Setenv(sharedDatabase, database)
	}
	if err != nil && !errors.Is(err, pgtest.ErrNoServer) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// database is the database that the tests of the package share.
func database(t testing.TB) string {
	t.Helper()
	if os.Getenv(sharedDatabase) == "" {
		pgtest.Need(t, pgtest.ErrNoServer)
	}
	return os.Getenv(sharedDatabase)
}

// openTenant opens the store of a tenant, which is closed with the test.
func openTenant(t testing.TB, opts Options) *Store {
	t.Helper()
	if opts.Tenant == "" {
		opts.Tenant = rand.Text()
	}
	opts.Role, opts.MaxConns = "freshet_test_app", 6
	s, err := Open(t.Context(), database(t), opts)
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

// TestStore runs the suite; every store of it is another tenant of one database.
func TestStore(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, now func() time.Time) store.Store { return openTenant(t, Options{Now: now}) }
	storetest.Run(t, open, storetest.Features{
		Reopen: func(t *testing.T, s store.Store, now func() time.Time) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openTenant(t, Options{Now: now, Tenant: s.(*Store).tenant})
		},
		Damage: func(t *testing.T, s store.Store, row storetest.Row, h merkle.Hash) {
			t.Helper()
			key := map[storetest.Row]string{storetest.RowContent: "hash", storetest.RowSyntax: "content", storetest.RowVector: "text"}[row]
			err := s.(*Store).write(t.Context(), func(c *tx) error {
				_, err := c.exec(t.Context(), "UPDATE "+string(row)+" SET body = set_byte(body, length(body) - 1, 255 - get_byte(body, length(body) - 1)) WHERE tenant = $1 AND "+key+" = $2", h[:])
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		},
	})
}
