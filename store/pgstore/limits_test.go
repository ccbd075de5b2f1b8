package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/pgstore/pgtest"
)

// with is a URL with one more setting.
func with(t *testing.T, database, name, value string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// TestConnectionsAreBounded has more readers at once than connections, by an option, by
// the URL, and by both.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		most    int
		setting string
		want    int32
	}{
		"neither": {0, "", defaultMaxConns}, "the option": {2, "", 2}, "the URL": {0, "3", 3}, "both": {2, "3", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := pgtest.Database(t)
			if tt.setting != "" {
				own = with(t, own, "pool_max_conns", tt.setting)
				if _, err := Look(t.Context(), own, Options{}); err != nil {
					t.Errorf("a survey: %v", err)
				}
			}
			s := starting(t, own, Options{MaxConns: tt.most})
			var most atomic.Int32
			var g errgroup.Group
			for range 2 * tt.want {
				g.Go(func() error {
					return s.view(t.Context(), func(c *tx) error {
						open := int32(0)
						_, err := c.one(t.Context(), `SELECT count(*)::integer FROM pg_stat_activity, pg_sleep(0.2)
							WHERE $1 <> '' AND datname = current_database() AND application_name = 'freshet'`, nil, &open)
						for seen := most.Load(); open > seen && !most.CompareAndSwap(seen, open); seen = most.Load() {
						}
						return err
					})
				})
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			if most.Load() > tt.want || s.pool.Stat().MaxConns() != tt.want {
				t.Errorf("%d connections were open at once of %d, want %d", most.Load(), s.pool.Stat().MaxConns(), tt.want)
			}
		})
	}
}

// TestLongStatementsAreEnded runs a statement longer than it may take, and one that waits
// longer for a lock. What may take its time does.
func TestLongStatementsAreEnded(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), database(t), Options{Tenant: rand.Text(), StatementTimeout: 2 * time.Second, LockTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	sleep := func(c *tx) error {
		_, err := c.exec(t.Context(), "SELECT pg_sleep(3) WHERE $1 <> ''")
		return err
	}
	for cause, call := range map[string]func() error{
		"statement timeout": func() error { return s.view(t.Context(), sleep) },
		"lock timeout": func() error {
			return s.writeAlone(t.Context(), func(*tx) error {
				return s.write(context.WithoutCancel(t.Context()), func(*tx) error { return nil })
			})
		},
	} {
		if err := call(); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), cause) {
			t.Errorf("%v, want that a %s ended it", err, cause)
		}
	}
	for name, m := range map[string]mode{"collection": alone(), "build": building()} {
		if err := s.run(t.Context(), m, sleep); err != nil {
			t.Errorf("a %s: %v", name, err)
		}
	}
}
