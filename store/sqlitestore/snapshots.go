package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// Snapshot returns one retained snapshot.
func (s *Store) Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (found store.Snapshot, err error) {
	err = s.look(ctx, func(r *rows) error {
		n, err := r.Snapshot(ctx, id, number)
		found = n.Snapshot
		return err
	})
	return found, err
}

// Snapshots lists the retained snapshots, newest first.
func (s *Store) Snapshots(ctx context.Context, id store.CodebaseID) (all []store.Snapshot, err error) {
	err = s.look(ctx, func(r *rows) error {
		all, err = rules.Snapshots(ctx, r, id)
		return err
	})
	return all, err
}

// Open opens a snapshot.
func (s *Store) Open(ctx context.Context, o store.Opening) (opened store.Snapshot, err error) {
	if err := s.usable(ctx); err != nil {
		return opened, err
	}
	frames, packErr := s.packContents(ctx, o.Contents)
	err = s.change(ctx, func(r *rows) error {
		opened, err = rules.Open(ctx, r, o, func() error {
			if packErr != nil {
				return packErr
			}
			return s.putContents(r.c, frames)
		})
		return err
	})
	if err != nil {
		return store.Snapshot{}, err
	}
	return opened, nil
}

// Abandon gives up a snapshot that is not sealed full.
func (s *Store) Abandon(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.change(ctx, func(r *rows) error { return rules.Abandon(ctx, r, id, number) })
}

// SetPinned keeps a snapshot from collection, or stops keeping it.
func (s *Store) SetPinned(ctx context.Context, id store.CodebaseID, number uint64, pinned bool) error {
	return s.change(ctx, func(r *rows) error { return rules.SetPinned(ctx, r, id, number, pinned) })
}

// SetCurrent serves another sealed snapshot.
func (s *Store) SetCurrent(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.change(ctx, func(r *rows) error { return rules.SetCurrent(ctx, r, id, number) })
}

// View returns a sealed snapshot with its segments.
func (s *Store) View(ctx context.Context, id store.CodebaseID, number uint64) (view store.View, err error) {
	err = s.look(ctx, func(r *rows) error {
		view, err = rules.View(ctx, r, id, number)
		return err
	})
	return view, err
}

// Seal makes a snapshot readable at a level and current.
func (s *Store) Seal(ctx context.Context, seal store.Seal) error {
	return s.change(ctx, func(r *rows) error { return rules.Seal(ctx, r, seal) })
}

// ReplaceSegments swaps the list of segments of a sealed snapshot.
func (s *Store) ReplaceSegments(ctx context.Context, id store.CodebaseID, number uint64, from, to []store.SegmentID) error {
	return s.change(ctx, func(r *rows) error { return rules.ReplaceSegments(ctx, r, id, number, from, to) })
}

// eachSnapshot calls fn for the snapshots of a codebase that a condition selects.
func (c *session) eachSnapshot(b codebase, condition string, args []any, fn func(n rules.Snapshot)) error {
	r := newRecord("snapshots", snapshotColumns)
	return c.each("SELECT "+snapshotColumns+" FROM snapshots WHERE codebase = ?"+condition, append([]any{b.key}, args...), func(rows *sql.Rows) error {
		if err := r.scan(rows); err != nil {
			return err
		}
		fn(r.snapshot(b.ID))
		return r.end()
	})
}

// Snapshot returns one snapshot.
func (r *rows) Snapshot(_ context.Context, id store.CodebaseID, num uint64) (n rules.Snapshot, err error) {
	b, err := r.codebase(id)
	if err != nil {
		return n, err
	}
	found := false
	err = r.c.eachSnapshot(b, " AND number = ?", []any{int64(num)}, func(one rules.Snapshot) { n, found = one, true })
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err != nil {
		return n, fmt.Errorf("snapshot %d of codebase %s: %w", num, id, err)
	}
	return n, nil
}

// Snapshots lists the snapshots of a codebase, newest first.
func (r *rows) Snapshots(_ context.Context, id store.CodebaseID) (all []rules.Snapshot, err error) {
	b, err := r.codebase(id)
	if err != nil {
		return nil, err
	}
	err = r.c.eachSnapshot(b, " ORDER BY number DESC", nil, func(n rules.Snapshot) { all = append(all, n) })
	if err != nil {
		return nil, fmt.Errorf("list snapshots of codebase %s: %w", id, err)
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

// AddSnapshot adds a snapshot.
func (r *rows) AddSnapshot(ctx context.Context, n store.Snapshot) error {
	return r.UpdateSnapshot(ctx, rules.Snapshot{Snapshot: n})
}

var putSnapshot = put("snapshots", snapshotColumns, 2)

// UpdateSnapshot writes a snapshot.
func (r *rows) UpdateSnapshot(_ context.Context, n rules.Snapshot) error {
	b, err := r.codebase(n.Codebase)
	if err != nil {
		return err
	}
	var w columns
	w.snapshot(b.key, n)
	err = r.c.exec(putSnapshot, w.summed("snapshots")...)
	if err != nil {
		return fmt.Errorf("put snapshot %d: %w", n.Number, err)
	}
	return nil
}

// Recipe returns the recipe of a fingerprint.
func (r *rows) Recipe(_ context.Context, fp store.Fingerprint) (store.Recipe, error) {
	return r.c.recipe(fp)
}

// AddRecipe adds a recipe.
func (r *rows) AddRecipe(_ context.Context, fp store.Fingerprint, recipe store.Recipe) error {
	return r.c.putRecipe(fp, recipe)
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
