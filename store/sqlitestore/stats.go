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
			key := number(b.key)
			return c.each("SELECT path, body FROM stats WHERE codebase = ? ORDER BY path", []any{b.key}, func(rows *sql.Rows) error {
				var path, body sql.RawBytes
				if err := rows.Scan(&path, &body); err != nil {
					return err
				}
				value, err := unseal(body, "stats", key, path)
				if err != nil {
					return err
				}
				r := reader{buf: value}
				entry := r.stat(string(path))
				if err := r.end("stat entry"); err != nil {
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
	key := number(b.key)
	for _, e := range upserts {
		var w writer
		w.stat(e)
		path := blob(e.Path)
		err := r.c.exec("INSERT INTO stats (codebase, path, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
			b.key, path, seal(w.buf, "stats", key, path))
		if err != nil {
			return fmt.Errorf("put stat entry of %q: %w", e.Path, err)
		}
	}
	return nil
}
