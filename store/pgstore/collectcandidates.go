package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet/freshet/store"
)

const (
	// briefly is how long a transaction that works on candidates waits for a lock: all who
	// come to use a table queue behind one who waits for it alone.
	briefly = 500 * time.Millisecond
	// collectWait is how long a collection tries to get at the candidates of one set.
	collectWait = 2 * time.Second
)

// patiently calls fn in transactions that wait briefly for a lock and hold none of the
// tenant, again until there was none to wait for or the time has passed.
func (s *Store) patiently(ctx context.Context, within time.Duration, fn func(c *tx) error) error {
	began := time.Now()
	for try := 1; ; try = min(try+1, maxTries) {
		err := s.run(ctx, building(), func(c *tx) error {
			if _, err := c.exec(ctx, "SELECT set_config('lock_timeout', $2, true) WHERE $1 <> ''", milliseconds(briefly)); err != nil {
				return err
			}
			return fn(c)
		})
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != stateNoLock || time.Since(began) > within {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// collectCandidates removes the candidates of segments that are gone, and those of
// codebases that were cleared and of fingerprints that no snapshot has. What is loaded or
// indexed meanwhile stays for the next collection, and so does the rest after an error:
// nothing finds it any more.
func (s *Store) collectCandidates(ctx context.Context) {
	var sets []int64
	err := s.view(ctx, func(c *tx) error {
		sets = nil
		return c.each(ctx, "SELECT id FROM nearest_sets WHERE tenant = $1 ORDER BY id", nil, func(rows pgx.Rows) error {
			var set int64
			err := rows.Scan(&set)
			sets = append(sets, set)
			return err
		})
	})
	if err == nil {
		err = s.patiently(ctx, collectWait, func(c *tx) error {
			_, err := c.exec(ctx, `DELETE FROM nearest_segments AS x WHERE tenant = $1 AND NOT EXISTS (
				SELECT FROM nearest_sets AS y WHERE y.tenant = $1 AND y.id = x.set)`) // of one that was loaded when its set went
			return err
		})
	}
	if err != nil {
		s.log.Info("candidates stay for the next collection", "error", err)
	}
	for _, set := range sets {
		if err := s.patiently(ctx, collectWait, func(c *tx) error { return c.collectSet(ctx, set) }); err != nil {
			s.log.Info("candidates stay for the next collection", "set", set, "error", err)
		}
	}
}

// collectSet drops a set that no snapshot has, or removes what it holds of segments that
// are gone. It uses no partition but that of the set.
func (c *tx) collectSet(ctx context.Context, set int64) error {
	dropped, err := c.exec(ctx, `SELECT nearest_drop(id) FROM nearest_sets AS x WHERE tenant = $1 AND id = $2 AND NOT EXISTS (
		SELECT FROM snapshots AS n WHERE n.tenant = $1 AND n.codebase = x.codebase AND n.fingerprint = x.fingerprint)`, set)
	if err != nil || dropped > 0 {
		return err
	}
	var gone []store.SegmentID
	err = c.each(ctx, `DELETE FROM nearest_segments AS x WHERE tenant = $1 AND set = $2 AND NOT EXISTS (
		SELECT FROM segments AS y WHERE y.tenant = $1 AND y.id = x.segment) RETURNING segment`, []any{set}, func(rows pgx.Rows) error {
		var segment int64
		err := rows.Scan(&segment)
		gone = append(gone, store.SegmentID(segment))
		return err
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	c.written += int64(len(gone))
	_, err = c.exec(ctx, fmt.Sprintf("DELETE FROM nearest WHERE tenant = $1 AND set = %d AND segment = ANY($2)", set), numbers(gone))
	return err
}
