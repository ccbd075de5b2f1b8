package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

const selectCodebases = `SELECT id, place, root, name, device, inode, registered_at, current, latest, failure
	FROM codebases WHERE tenant = $1`

func scanCodebase(rows pgx.Rows) (b store.Codebase, err error) {
	var id string
	var place, root, name, failure []byte
	var device, inode, current, latest int64
	var at *int64
	if err := rows.Scan(&id, &place, &root, &name, &device, &inode, &at, &current, &latest, &failure); err != nil {
		return b, err
	}
	return store.Codebase{
		ID: store.CodebaseID(id), Place: string(place), Root: string(root), Name: string(name), Failure: string(failure), RegisteredAt: timeOf(at),
		Identity: store.RootIdentity{Device: uint64(device), Inode: uint64(inode)}, Current: uint64(current), Latest: uint64(latest),
	}, nil
}

// codebases lists those that a condition selects.
func (c *tx) codebases(ctx context.Context, condition string, args ...any) (all []store.Codebase, err error) {
	err = c.each(ctx, selectCodebases+condition, args, func(rows pgx.Rows) error {
		b, err := scanCodebase(rows)
		all = append(all, b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list codebases: %w", err)
	}
	return all, nil
}

func (c *tx) codebase(ctx context.Context, id store.CodebaseID) (store.Codebase, error) {
	return c.oneCodebase(ctx, string(id), " AND id = $2", string(id))
}

func (c *tx) oneCodebase(ctx context.Context, what, condition string, args ...any) (store.Codebase, error) {
	all, err := c.codebases(ctx, condition, args...)
	if err == nil && len(all) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Codebase{}, fmt.Errorf("codebase %s: %w", what, err)
	}
	return all[0], nil
}

// Codebase returns one codebase.
func (s *Store) Codebase(ctx context.Context, id store.CodebaseID) (found store.Codebase, err error) {
	err = s.look(ctx, func(r rows) error {
		found, err = r.Codebase(ctx, id)
		return err
	})
	return found, err
}

// Codebases lists all, sorted by name, then id.
func (s *Store) Codebases(ctx context.Context) (all []store.Codebase, err error) {
	err = s.look(ctx, func(r rows) error {
		all, err = r.Codebases(ctx)
		return err
	})
	rules.SortCodebases(all)
	return all, err
}

// Register adds a codebase, or returns the one that has its root in its place.
func (s *Store) Register(ctx context.Context, asked store.Codebase) (registered store.Codebase, err error) {
	err = s.change(ctx, func(r rows) error {
		registered, err = rules.Register(ctx, r, asked, s.now())
		return err
	})
	if err != nil {
		return store.Codebase{}, err
	}
	return registered, nil
}

// SetIdentity records the identity of the codebase's root.
func (s *Store) SetIdentity(ctx context.Context, id store.CodebaseID, identity store.RootIdentity) error {
	return s.changeCodebase(ctx, id, "device = $3, inode = $4", int64(identity.Device), int64(identity.Inode))
}

// SetFailure records why indexing failed.
func (s *Store) SetFailure(ctx context.Context, id store.CodebaseID, reason string) error {
	return s.changeCodebase(ctx, id, "failure = $3", blob(reason))
}

func (s *Store) changeCodebase(ctx context.Context, id store.CodebaseID, set string, args ...any) error {
	return s.write(ctx, func(c *tx) error { return c.updateCodebase(ctx, id, set, args...) })
}

func (c *tx) updateCodebase(ctx context.Context, id store.CodebaseID, set string, args ...any) error {
	n, err := c.exec(ctx, "UPDATE codebases SET "+set+" WHERE tenant = $1 AND id = $2", append([]any{string(id)}, args...)...)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("change codebase %s: %w", id, err)
	}
	return nil
}

// Clear removes a codebase. Its committed events stay in the outbox.
func (s *Store) Clear(ctx context.Context, id store.CodebaseID) error {
	return s.changeAlone(ctx, func(r rows) error { return rules.Clear(ctx, r, id) })
}

// Codebase returns one codebase.
func (r rows) Codebase(ctx context.Context, id store.CodebaseID) (store.Codebase, error) {
	return r.c.oneCodebase(ctx, string(id), " AND id = $2"+r.lock, string(id))
}

// Codebases lists all.
func (r rows) Codebases(ctx context.Context) ([]store.Codebase, error) { return r.c.codebases(ctx, "") }

// CodebaseAt returns the codebase that has a root in a place.
func (r rows) CodebaseAt(ctx context.Context, place, root string) (store.Codebase, error) {
	return r.c.oneCodebase(ctx, "at "+root, " AND place = $2 AND root = $3", blob(place), blob(root))
}

// AddCodebase adds a codebase. When another process adds one with its root or id now, it
// waits for that.
func (r rows) AddCodebase(ctx context.Context, c store.Codebase) (bool, error) {
	n, err := r.c.exec(ctx, `INSERT INTO codebases (tenant, id, place, root, name, device, inode, registered_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
		string(c.ID), blob(c.Place), blob(c.Root), blob(c.Name), int64(c.Identity.Device), int64(c.Identity.Inode), instant(c.RegisteredAt))
	return n > 0, err
}

// PutHeads writes the numbers of the current and the latest snapshot.
func (r rows) PutHeads(ctx context.Context, c store.Codebase) error {
	return r.c.updateCodebase(ctx, c.ID, "current = $3, latest = $4", int64(c.Current), int64(c.Latest))
}

// EndGraceOf ends the grace of the contents and segments that a codebase names.
func (r rows) EndGraceOf(ctx context.Context, id store.CodebaseID) error {
	return r.c.all(ctx, []string{
		`UPDATE segments SET put_at = 0 WHERE tenant = $1 AND put_at <> 0
			AND id IN (SELECT unnest(segments) FROM snapshots WHERE tenant = $1 AND codebase = $2)`,
		`UPDATE contents SET put_at = 0 WHERE tenant = $1 AND put_at <> 0
			AND hash IN (SELECT content FROM manifest WHERE tenant = $1 AND codebase = $2)`,
	}, string(id))
}

// DropCodebase drops a codebase with its rows.
func (r rows) DropCodebase(ctx context.Context, id store.CodebaseID) error {
	return r.c.all(ctx, []string{
		"DELETE FROM snapshots WHERE tenant = $1 AND codebase = $2",
		"DELETE FROM manifest WHERE tenant = $1 AND codebase = $2",
		"DELETE FROM stats WHERE tenant = $1 AND codebase = $2",
		"DELETE FROM failures WHERE tenant = $1 AND codebase = $2",
		"DELETE FROM codebases WHERE tenant = $1 AND id = $2",
	}, string(id))
}

// DropSessions drops every session.
func (r rows) DropSessions(ctx context.Context) error {
	_, err := r.c.exec(ctx, "DELETE FROM sessions WHERE tenant = $1")
	return err
}
