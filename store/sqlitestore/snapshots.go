package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/freshet/freshet/store"
)

// snapshot is a row of the table of snapshots.
type snapshot struct {
	store.Snapshot
	segments []store.SegmentID
}

func (n *snapshot) scan(rows *sql.Rows, b codebase) error {
	var num int64
	var body []byte
	if err := rows.Scan(&num, &body); err != nil {
		return err
	}
	value, err := unseal(body, "snapshots", number(b.key), number(num))
	if err != nil {
		return err
	}
	r := reader{buf: value}
	*n = r.snapshot(b.ID, uint64(num))
	return r.end("snapshot")
}

func (c *session) snapshot(id store.CodebaseID, num uint64) (b codebase, n snapshot, err error) {
	if b, err = c.codebase(id); err != nil {
		return b, n, err
	}
	found := false
	err = c.each("SELECT number, body FROM snapshots WHERE codebase = ? AND number = ?", []any{b.key, int64(num)}, func(rows *sql.Rows) error {
		found = true
		return n.scan(rows, b)
	})
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err != nil {
		err = fmt.Errorf("snapshot %d of codebase %s: %w", num, id, err)
	}
	return b, n, err
}

// plain are snapshots without their segments.
func plain(rows []snapshot) []store.Snapshot {
	all := make([]store.Snapshot, len(rows))
	for i, n := range rows {
		all[i] = n.Snapshot
	}
	return all
}

// snapshots lists the retained snapshots of a codebase, newest first.
func (c *session) snapshots(b codebase) ([]snapshot, error) {
	var all []snapshot
	err := c.each("SELECT number, body FROM snapshots WHERE codebase = ? ORDER BY number DESC", []any{b.key}, func(rows *sql.Rows) error {
		var n snapshot
		if err := n.scan(rows, b); err != nil {
			return err
		}
		all = append(all, n)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list snapshots of codebase %s: %w", b.ID, err)
	}
	newest := uint64(0)
	if len(all) > 0 {
		newest = all[0].Number
	}
	return all, b.agrees(newest)
}

// agrees compares a codebase with its newest snapshot, which is never collected: where they
// differ, one of the two tables is damaged or older than the other.
func (b *codebase) agrees(newest uint64) error {
	if newest == b.Latest {
		return nil
	}
	return fmt.Errorf("codebase %s has snapshot %d as its latest, and %d is the newest: %w", b.ID, b.Latest, newest, store.ErrCorrupt)
}

func (c *session) putSnapshot(b codebase, n snapshot) error {
	var w writer
	w.snapshot(n)
	err := c.exec("INSERT INTO snapshots (codebase, number, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
		b.key, int64(n.Number), seal(w.buf, "snapshots", number(b.key), number(int64(n.Number))))
	if err != nil {
		return fmt.Errorf("put snapshot %d: %w", n.Number, err)
	}
	return nil
}

// Recipe returns the recipe of a fingerprint.
func (s *Store) Recipe(ctx context.Context, fp store.Fingerprint) (recipe store.Recipe, err error) {
	err = s.view(ctx, func(c *session) error {
		recipe, err = c.recipe(fp)
		return err
	})
	return recipe, err
}

func (c *session) recipe(fp store.Fingerprint) (recipe store.Recipe, err error) {
	var body []byte
	found, err := c.one("SELECT body FROM recipes WHERE fingerprint = ?", []any{string(fp)}, &body)
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err != nil {
		return recipe, fmt.Errorf("recipe %s: %w", fp.Short(), err)
	}
	if err := json.Unmarshal(body, &recipe); err != nil || recipe.Fingerprint() != fp {
		return store.Recipe{}, fmt.Errorf("recipe %s does not have its fingerprint: %w", fp.Short(), store.ErrCorrupt)
	}
	return recipe, nil
}

func (c *session) putRecipe(fp store.Fingerprint, recipe store.Recipe) error {
	body, err := json.Marshal(recipe)
	if err != nil {
		return fmt.Errorf("encode recipe %s: %w", fp.Short(), err)
	}
	if err := c.exec("INSERT INTO recipes (fingerprint, body) VALUES (?, ?) ON CONFLICT DO NOTHING", string(fp), body); err != nil {
		return fmt.Errorf("put recipe %s: %w", fp.Short(), err)
	}
	return nil
}

// Snapshot returns one retained snapshot.
func (s *Store) Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (found store.Snapshot, err error) {
	err = s.view(ctx, func(c *session) error {
		_, n, err := c.snapshot(id, number)
		found = n.Snapshot
		return err
	})
	return found, err
}

// Snapshots lists the retained snapshots, newest first.
func (s *Store) Snapshots(ctx context.Context, id store.CodebaseID) (all []store.Snapshot, err error) {
	err = s.view(ctx, func(c *session) error {
		b, err := c.codebase(id)
		if err != nil {
			return err
		}
		rows, err := c.snapshots(b)
		all = plain(rows)
		return err
	})
	return all, err
}

// Abandon gives up a snapshot that is not sealed full.
func (s *Store) Abandon(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.changeSnapshot(ctx, id, number, func(n *snapshot) error {
		if n.Level == store.LevelFull {
			return fmt.Errorf("abandon snapshot %d, which is full: %w", number, store.ErrConflict)
		}
		n.Abandoned = true
		return nil
	})
}

// SetPinned keeps a snapshot from collection, or stops keeping it.
func (s *Store) SetPinned(ctx context.Context, id store.CodebaseID, number uint64, pinned bool) error {
	return s.changeSnapshot(ctx, id, number, func(n *snapshot) error {
		n.Pinned = pinned
		return nil
	})
}

func (s *Store) changeSnapshot(ctx context.Context, id store.CodebaseID, number uint64, change func(n *snapshot) error) error {
	return s.write(ctx, func(c *session) error {
		b, n, err := c.snapshot(id, number)
		if err != nil {
			return err
		}
		if err := change(&n); err != nil {
			return err
		}
		return c.putSnapshot(b, n)
	})
}

// SetCurrent serves another sealed snapshot.
func (s *Store) SetCurrent(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.write(ctx, func(c *session) error {
		b, n, err := c.snapshot(id, number)
		if err != nil {
			return err
		}
		if n.Level == store.LevelOpen {
			return fmt.Errorf("serve snapshot %d: %w", number, store.ErrNoSnapshot)
		}
		b.Current = number
		return c.putCodebase(b)
	})
}
