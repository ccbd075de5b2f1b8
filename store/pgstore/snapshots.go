package pgstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
	"github.com/freshet/freshet/sync/merkle"
)

// Snapshot returns one retained snapshot.
func (s *Store) Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (found store.Snapshot, err error) {
	err = s.look(ctx, func(r rows) error {
		n, err := r.Snapshot(ctx, id, number)
		found = n.Snapshot
		return err
	})
	if err != nil {
		return store.Snapshot{}, err
	}
	return found, nil
}

// Snapshots lists the retained snapshots, newest first.
func (s *Store) Snapshots(ctx context.Context, id store.CodebaseID) (all []store.Snapshot, err error) {
	err = s.look(ctx, func(r rows) error {
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
	packed := s.newPacking(o.Contents)
	err = s.change(ctx, func(r rows) error {
		opened, err = rules.Open(ctx, r, o, func() error { return packed.put(ctx, r.c) })
		return err
	})
	if err != nil {
		return store.Snapshot{}, err
	}
	return opened, nil
}

// Abandon gives up a snapshot that is not sealed full.
func (s *Store) Abandon(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.change(ctx, func(r rows) error { return rules.Abandon(ctx, r, id, number) })
}

// SetPinned keeps a snapshot from collection, or stops keeping it.
func (s *Store) SetPinned(ctx context.Context, id store.CodebaseID, number uint64, pinned bool) error {
	return s.change(ctx, func(r rows) error { return rules.SetPinned(ctx, r, id, number, pinned) })
}

// SetCurrent serves another sealed snapshot.
func (s *Store) SetCurrent(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.change(ctx, func(r rows) error { return rules.SetCurrent(ctx, r, id, number) })
}

// View returns a sealed snapshot with its segments.
func (s *Store) View(ctx context.Context, id store.CodebaseID, number uint64) (view store.View, err error) {
	err = s.look(ctx, func(r rows) error {
		view, err = rules.View(ctx, r, id, number)
		return err
	})
	return view, err
}

// Seal makes a snapshot readable at a level and current.
func (s *Store) Seal(ctx context.Context, seal store.Seal) error {
	return s.change(ctx, func(r rows) error { return rules.Seal(ctx, r, seal) })
}

// ReplaceSegments swaps the list of segments of a sealed snapshot.
func (s *Store) ReplaceSegments(ctx context.Context, id store.CodebaseID, number uint64, from, to []store.SegmentID) error {
	return s.change(ctx, func(r rows) error { return rules.ReplaceSegments(ctx, r, id, number, from, to) })
}

const selectSnapshots = `SELECT codebase, number, parent, base, fingerprint, root, level, abandoned, rebuild, opened_at, sealed_at,
	files, bytes, changed, pinned, ref, segments FROM snapshots WHERE tenant = $1 AND codebase = $2`

func scanSnapshot(rows pgx.Rows) (n rules.Snapshot, err error) {
	var codebase, fingerprint string
	var number, parent, base, files, changed int64
	var level int16
	var root, ref []byte
	var opened, sealed *int64
	var segments []int64
	err = rows.Scan(&codebase, &number, &parent, &base, &fingerprint, &root, &level, &n.Abandoned, &n.Rebuild, &opened, &sealed,
		&files, &n.Bytes, &changed, &n.Pinned, &ref, &segments)
	if err != nil {
		return n, err
	}
	n.Codebase, n.Number, n.Parent, n.Base = store.CodebaseID(codebase), uint64(number), uint64(parent), uint64(base)
	n.Fingerprint, n.Level, n.Ref = store.Fingerprint(fingerprint), store.Level(level), string(ref)
	n.OpenedAt, n.SealedAt, n.Files, n.Changed = timeOf(opened), timeOf(sealed), int(files), int(changed)
	for _, id := range segments {
		n.Segments = append(n.Segments, store.SegmentID(id))
	}
	n.Root, err = hashOf(root)
	return n, err
}

// hashOf is a hash as it was read.
func hashOf(b []byte) (h merkle.Hash, err error) {
	if len(b) != len(h) {
		return h, fmt.Errorf("a hash has %d bytes: %w", len(b), store.ErrCorrupt)
	}
	return merkle.Hash(b), nil
}

// Snapshots lists the retained snapshots of a codebase, newest first.
func (r rows) Snapshots(ctx context.Context, id store.CodebaseID) (all []rules.Snapshot, err error) {
	err = r.c.each(ctx, selectSnapshots+" ORDER BY number DESC", []any{string(id)}, func(rows pgx.Rows) error {
		n, err := scanSnapshot(rows)
		all = append(all, n)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list snapshots of codebase %s: %w", id, err)
	}
	return all, nil
}

// Snapshot returns one snapshot. It tells a codebase that is unknown from a snapshot.
func (r rows) Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (n rules.Snapshot, err error) {
	found := false
	err = r.c.each(ctx, selectSnapshots+" AND number = $3", []any{string(id), int64(number)}, func(rows pgx.Rows) error {
		found = true
		n, err = scanSnapshot(rows)
		return err
	})
	if err == nil && !found {
		if _, err := r.c.codebase(ctx, id); err != nil {
			return n, err
		}
		err = store.ErrNotFound
	}
	if err != nil {
		return n, fmt.Errorf("snapshot %d of codebase %s: %w", number, id, err)
	}
	return n, nil
}

// AddSnapshot adds a snapshot.
func (r rows) AddSnapshot(ctx context.Context, n store.Snapshot) error {
	_, err := r.c.exec(ctx, `INSERT INTO snapshots (tenant, codebase, number, parent, base, fingerprint, root, rebuild, opened_at,
		files, bytes, changed, ref) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		string(n.Codebase), int64(n.Number), int64(n.Parent), int64(n.Base), string(n.Fingerprint), n.Root[:], n.Rebuild,
		instant(n.OpenedAt), int64(n.Files), n.Bytes, int64(n.Changed), blob(n.Ref))
	if err != nil {
		return fmt.Errorf("put snapshot %d: %w", n.Number, err)
	}
	return nil
}

// UpdateSnapshot writes what may change of a snapshot.
func (r rows) UpdateSnapshot(ctx context.Context, n rules.Snapshot) error {
	_, err := r.c.exec(ctx, `UPDATE snapshots SET level = $4, sealed_at = $5, abandoned = $6, pinned = $7, segments = $8
		WHERE tenant = $1 AND codebase = $2 AND number = $3`,
		string(n.Codebase), int64(n.Number), int16(n.Level), instant(n.SealedAt), n.Abandoned, n.Pinned, numbers(n.Segments))
	if err != nil {
		return fmt.Errorf("change snapshot %d: %w", n.Number, err)
	}
	return nil
}

// Recipe returns the recipe of a fingerprint.
func (s *Store) Recipe(ctx context.Context, fp store.Fingerprint) (recipe store.Recipe, err error) {
	err = s.look(ctx, func(r rows) error {
		recipe, err = r.Recipe(ctx, fp)
		return err
	})
	return recipe, err
}

// Recipe returns the recipe of a fingerprint.
func (r rows) Recipe(ctx context.Context, fp store.Fingerprint) (recipe store.Recipe, err error) {
	var body []byte
	found, err := r.c.one(ctx, "SELECT body FROM recipes WHERE tenant = $1 AND fingerprint = $2", []any{string(fp)}, &body)
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

// AddRecipe adds a recipe.
func (r rows) AddRecipe(ctx context.Context, fp store.Fingerprint, recipe store.Recipe) error {
	body, err := json.Marshal(recipe)
	if err != nil {
		return fmt.Errorf("encode recipe %s: %w", fp.Short(), err)
	}
	_, err = r.c.exec(ctx, "INSERT INTO recipes (tenant, fingerprint, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", string(fp), body)
	if err != nil {
		return fmt.Errorf("put recipe %s: %w", fp.Short(), err)
	}
	return nil
}
