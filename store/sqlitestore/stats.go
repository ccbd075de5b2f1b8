package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/freshet/freshet/store"
)

// Stats yields every stat entry of a codebase.
func (s *Store) Stats(ctx context.Context, id store.CodebaseID) iter.Seq2[store.StatEntry, error] {
	return func(yield func(store.StatEntry, error) bool) {
		err := s.view(ctx, func(c *session) error {
			b, err := c.codebase(id)
			if err != nil {
				return err
			}
			r := newRecord("stats", statColumns)
			return c.each("SELECT "+statColumns+" FROM stats WHERE codebase = ? ORDER BY path", []any{b.key}, func(rows *sql.Rows) error {
				if err := r.scan(rows); err != nil {
					return err
				}
				entry := r.stat()
				if err := r.end(); err != nil {
					return err
				}
				if !yield(entry, nil) {
					return errStop
				}
				return ctx.Err()
			})
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(store.StatEntry{}, err)
		}
	}
}

// PutStats changes stat entries.
func (s *Store) PutStats(ctx context.Context, id store.CodebaseID, upserts []store.StatEntry, removes []string) error {
	return s.change(ctx, func(r *rows) error { return r.PutStats(ctx, id, upserts, removes) })
}

var putStat = put("stats", statColumns, 2)

// PutStats removes and upserts stat entries.
func (r *rows) PutStats(_ context.Context, id store.CodebaseID, upserts []store.StatEntry, removes []string) error {
	b, err := r.codebase(id)
	if err != nil {
		return err
	}
	for _, path := range removes {
		if err := r.c.exec("DELETE FROM stats WHERE codebase = ? AND path = ?", b.key, blob(path)); err != nil {
			return fmt.Errorf("remove stat entry of %q: %w", path, err)
		}
	}
	for _, e := range upserts {
		var w columns
		w.stat(b.key, e)
		if err := r.c.exec(putStat, w.summed("stats")...); err != nil {
			return fmt.Errorf("put stat entry of %q: %w", e.Path, err)
		}
	}
	return nil
}
