package pgstore

import (
	"context"
	"errors"
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
		return s.run(t.Context(), building(), func(*tx) error {
			close(begun)
			<-done
			return nil
		})
	})
	select {
	case <-begun:
	case <-time.After(5 * time.Minute):
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
			case <-time.After(5 * time.Minute):
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
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		if count(t, conn, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) > 0 {
			return
		}
	}
	t.Fatal("nobody waits for the lock of migrations")
}

// TestCollectDuringBuild collects while the index of candidates is built: neither the
// collection nor a write waits for it, and the next collection removes what was left.
func TestCollectDuringBuild(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(t *testing.T, s *Store, view store.View)
		left int // segments of candidates
	}{
		"segments are gone": {sealFirst, 1},
		"the codebase is gone": {func(t *testing.T, s *Store, _ store.View) {
			if err := s.Clear(t.Context(), "near"); err != nil {
				t.Fatal(err)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := pgtest.Database(t)
			s := starting(t, own, Options{CandidatesFrom: 1, Now: func() time.Time { return time.Now().Add(-2 * store.CollectGrace) }})
			collector, super := starting(t, own, Options{}), rawConn(t, own, "")
			view := nearTree(t, s, 3, 20, 8)
			if err := s.IndexCandidates(t.Context(), "near", 1); err != nil {
				t.Fatal(err)
			}
			build, err := super.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := build.Exec(t.Context(), "SELECT set_config('freshet.tenant', $1, true), nearest_index(id) FROM nearest_sets", s.tenant); err != nil {
				t.Fatal(err)
			}
			tt.end(t, s, view)
			if collected := collectBesideWrites(t, collector); collected.Segments != 3-tt.left {
				t.Errorf("collected %+v", collected)
			}
			if err := build.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := collector.Collect(t.Context(), store.Retention{Keep: 1}); err != nil {
				t.Fatal(err)
			}
			for table, want := range map[string]int{"nearest": 20 * tt.left, "nearest_segments": tt.left, "nearest_sets": tt.left} {
				if n := count(t, super, "SELECT count(*) FROM "+table); n != want {
					t.Errorf("%d rows of %s are left, want %d", n, table, want)
				}
			}
		})
	}
}

// sealFirst seals a snapshot that has only the first segment of a view.
func sealFirst(t *testing.T, s *Store, view store.View) {
	t.Helper()
	recipe, err := s.Recipe(t.Context(), view.Snapshot.Fingerprint)
	if err == nil {
		_, err = s.Open(t.Context(), store.Opening{Codebase: "near", Number: 2, Parent: 1, Recipe: recipe, Rebuild: true})
	}
	if err == nil {
		err = s.Seal(t.Context(), store.Seal{Codebase: "near", Number: 2, Level: store.LevelFull, Segments: segmentIDs(view)[:1]})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func collectBesideWrites(t *testing.T, s *Store) store.Collected {
	t.Helper()
	done, stop := context.WithCancel(t.Context())
	var writes errgroup.Group
	writes.Go(func() error {
		for done.Err() == nil {
			if err := s.PutOutbox(t.Context(), nil); err != nil {
				return err
			}
		}
		return nil
	})
	collected, err := s.Collect(t.Context(), store.Retention{Keep: 1})
	stop()
	if err := errors.Join(err, writes.Wait()); err != nil {
		t.Error(err)
	}
	return collected
}
