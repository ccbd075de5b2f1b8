package pgstore

import (
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// build begins what takes as long as an index of candidates and holds what that holds. It
// ends with end, or with the test.
func build(t *testing.T, s *Store) (end func()) {
	t.Helper()
	begun, done := make(chan struct{}), make(chan struct{})
	var g errgroup.Group
	g.Go(func() error {
		return s.run(t.Context(), building(), func(*session) error {
			close(begun)
			<-done
			return nil
		})
	})
	select {
	case <-begun:
	case <-time.After(time.Minute):
		t.Fatal("the build does not begin")
	}
	end = sync.OnceFunc(func() {
		close(done)
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

// starting opens a store that shares no lock for long, of which the tests below start more.
func starting(t *testing.T, own string, opts Options) *Store {
	t.Helper()
	opts.LockTimeout = 3 * time.Second
	s, err := Open(t.Context(), own, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestWritesPassWhoWaitsForABuild starts processes while an index of candidates is built:
// one with nothing to grant starts, and writes pass those that wait for the build to end.
func TestWritesPassWhoWaitsForABuild(t *testing.T) {
	t.Parallel()
	role := Options{Role: "freshet_test_app"}
	start := func(t *testing.T, own string) error {
		s, err := Open(t.Context(), own, role)
		if err == nil {
			err = s.Close()
		}
		return err
	}
	migrate := func(t *testing.T, own string) error { return apply(t, own, newer(t)) }
	for name, tt := range map[string]struct {
		prepare string
		start   func(t *testing.T, own string) error
		waits   bool
	}{
		"nothing to grant": {"", start, false},
		"a right to grant": {"REVOKE DELETE ON vectors FROM freshet_test_app", start, true},
		"a migration":      {"", migrate, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := pgtest.Database(t)
			s, super := starting(t, own, role), rawConn(t, own, "")
			if _, err := s.Register(t.Context(), store.Codebase{ID: "a", Root: "/"}); err != nil {
				t.Fatal(err)
			}
			if _, err := super.Exec(t.Context(), tt.prepare); err != nil {
				t.Fatal(err)
			}
			end := build(t, s)
			started := make(chan error, 1)
			go func() { started <- tt.start(t, own) }()
			if tt.waits {
				untilWaits(t, super)
				writeSome(t, s)
				end()
			}
			select {
			case err := <-started:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(20 * time.Second):
				t.Error("it waits for the build")
			}
			end()
			if n := count(t, super, lacking, role.Role); n > 0 && name != "a migration" {
				t.Errorf("the role lacks %d tables", n)
			}
		})
	}
}

func writeSome(t *testing.T, s *Store) {
	t.Helper()
	for range 8 {
		if err := s.SetFailure(t.Context(), "a", "x"); err != nil {
			t.Errorf("a write: %v", err)
			return
		}
	}
}

// untilWaits returns when somebody waits for the lock of migrations.
func untilWaits(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if count(t, conn, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) > 0 {
			return
		}
	}
	t.Fatal("nobody waits for the lock of migrations")
}
