package pgstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// snapshot is a row of the table of snapshots.
type snapshot struct {
	store.Snapshot
	segments []store.SegmentID
}

const selectSnapshots = `SELECT codebase, number, parent, base, fingerprint, root, level, abandoned, rebuild, opened_at, sealed_at,
	files, bytes, changed, pinned, ref, segments FROM snapshots WHERE tenant = $1 AND codebase = $2`

func scanSnapshot(rows pgx.Rows) (n snapshot, err error) {
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
		n.segments = append(n.segments, store.SegmentID(id))
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

// plain are snapshots without their segments.
func plain(rows []snapshot) []store.Snapshot {
	all := make([]store.Snapshot, len(rows))
	for i, n := range rows {
		all[i] = n.Snapshot
	}
	return all
}

// snapshots lists the retained snapshots of a codebase, newest first.
func (c *session) snapshots(ctx context.Context, id store.CodebaseID) (all []snapshot, err error) {
	err = c.each(ctx, selectSnapshots+" ORDER BY number DESC", []any{string(id)}, func(rows pgx.Rows) error {
		n, err := scanSnapshot(rows)
		all = append(all, n)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list snapshots of codebase %s: %w", id, err)
	}
	return all, nil
}

// snapshot returns one snapshot. It tells a codebase that is unknown from a snapshot.
func (c *session) snapshot(ctx context.Context, id store.CodebaseID, number uint64) (n snapshot, err error) {
	found := false
	err = c.each(ctx, selectSnapshots+" AND number = $3", []any{string(id), int64(number)}, func(rows pgx.Rows) error {
		found = true
		n, err = scanSnapshot(rows)
		return err
	})
	if err == nil && !found {
		if _, err := c.codebase(ctx, id); err != nil {
			return n, err
		}
		err = store.ErrNotFound
	}
	if err != nil {
		return n, fmt.Errorf("snapshot %d of codebase %s: %w", number, id, err)
	}
	return n, nil
}

// holdSnapshot is snapshot while no other transaction changes its codebase.
func (c *session) holdSnapshot(ctx context.Context, id store.CodebaseID, number uint64) (store.Codebase, snapshot, error) {
	b, err := c.holdCodebase(ctx, id)
	if err != nil {
		return b, snapshot{}, err
	}
	n, err := c.snapshot(ctx, id, number)
	return b, n, err
}

func (c *session) insertSnapshot(ctx context.Context, n snapshot) error {
	_, err := c.exec(ctx, `INSERT INTO snapshots (tenant, codebase, number, parent, base, fingerprint, root, rebuild, opened_at,
		files, bytes, changed, ref) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		string(n.Codebase), int64(n.Number), int64(n.Parent), int64(n.Base), string(n.Fingerprint), n.Root[:], n.Rebuild,
		instant(n.OpenedAt), int64(n.Files), n.Bytes, int64(n.Changed), blob(n.Ref))
	if err != nil {
		return fmt.Errorf("put snapshot %d: %w", n.Number, err)
	}
	return nil
}

// updateSnapshot changes columns of a snapshot that the transaction holds.
func (c *session) updateSnapshot(ctx context.Context, n snapshot, set string, args ...any) error {
	_, err := c.exec(ctx, "UPDATE snapshots SET "+set+" WHERE tenant = $1 AND codebase = $2 AND number = $3",
		append([]any{string(n.Codebase), int64(n.Number)}, args...)...)
	if err != nil {
		return fmt.Errorf("change snapshot %d: %w", n.Number, err)
	}
	return nil
}

// Recipe returns the recipe of a fingerprint.
func (s *Store) Recipe(ctx context.Context, fp store.Fingerprint) (recipe store.Recipe, err error) {
	err = s.view(ctx, func(c *session) error {
		recipe, err = c.recipe(ctx, fp)
		return err
	})
	return recipe, err
}

func (c *session) recipe(ctx context.Context, fp store.Fingerprint) (recipe store.Recipe, err error) {
	var body []byte
	found, err := c.one(ctx, "SELECT body FROM recipes WHERE tenant = $1 AND fingerprint = $2", []any{string(fp)}, &body)
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

func (c *session) putRecipe(ctx context.Context, fp store.Fingerprint, recipe store.Recipe) error {
	body, err := json.Marshal(recipe)
	if err != nil {
		return fmt.Errorf("encode recipe %s: %w", fp.Short(), err)
	}
	_, err = c.exec(ctx, "INSERT INTO recipes (tenant, fingerprint, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", string(fp), body)
	if err != nil {
		return fmt.Errorf("put recipe %s: %w", fp.Short(), err)
	}
	return nil
}

// Snapshot returns one retained snapshot.
func (s *Store) Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (found store.Snapshot, err error) {
	err = s.view(ctx, func(c *session) error {
		n, err := c.snapshot(ctx, id, number)
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
	err = s.view(ctx, func(c *session) error {
		all = nil
		if _, err := c.codebase(ctx, id); err != nil {
			return err
		}
		rows, err := c.snapshots(ctx, id)
		all = plain(rows)
		return err
	})
	return all, err
}

// Abandon gives up a snapshot that is not sealed full.
func (s *Store) Abandon(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.write(ctx, func(c *session) error {
		_, n, err := c.holdSnapshot(ctx, id, number)
		if err != nil {
			return err
		}
		if n.Level == store.LevelFull {
			return fmt.Errorf("abandon snapshot %d, which is full: %w", number, store.ErrConflict)
		}
		return c.updateSnapshot(ctx, n, "abandoned = true")
	})
}

// SetPinned keeps a snapshot from collection, or stops keeping it.
func (s *Store) SetPinned(ctx context.Context, id store.CodebaseID, number uint64, pinned bool) error {
	return s.write(ctx, func(c *session) error {
		_, n, err := c.holdSnapshot(ctx, id, number)
		if err != nil {
			return err
		}
		return c.updateSnapshot(ctx, n, "pinned = $4", pinned)
	})
}

// SetCurrent serves another sealed snapshot.
func (s *Store) SetCurrent(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.write(ctx, func(c *session) error {
		_, n, err := c.holdSnapshot(ctx, id, number)
		if err != nil {
			return err
		}
		if n.Level == store.LevelOpen {
			return fmt.Errorf("serve snapshot %d: %w", number, store.ErrNoSnapshot)
		}
		return c.updateCodebase(ctx, id, "current = $3", int64(number))
	})
}
