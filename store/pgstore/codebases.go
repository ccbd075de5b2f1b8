package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
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
func (c *session) codebases(ctx context.Context, condition string, args ...any) (all []store.Codebase, err error) {
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

func (c *session) codebase(ctx context.Context, id store.CodebaseID) (store.Codebase, error) {
	return c.oneCodebase(ctx, id, " AND id = $2")
}

// holdCodebase is codebase while no other transaction changes it or its snapshots.
func (c *session) holdCodebase(ctx context.Context, id store.CodebaseID) (store.Codebase, error) {
	return c.oneCodebase(ctx, id, " AND id = $2 FOR NO KEY UPDATE")
}

func (c *session) oneCodebase(ctx context.Context, id store.CodebaseID, condition string) (store.Codebase, error) {
	all, err := c.codebases(ctx, condition, string(id))
	if err == nil && len(all) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Codebase{}, fmt.Errorf("codebase %s: %w", id, err)
	}
	return all[0], nil
}

// Codebase returns one codebase.
func (s *Store) Codebase(ctx context.Context, id store.CodebaseID) (found store.Codebase, err error) {
	err = s.view(ctx, func(c *session) error {
		found, err = c.codebase(ctx, id)
		return err
	})
	return found, err
}

// Codebases lists all, sorted by name, then id.
func (s *Store) Codebases(ctx context.Context) (all []store.Codebase, err error) {
	err = s.view(ctx, func(c *session) error {
		all, err = c.codebases(ctx, "")
		return err
	})
	slices.SortFunc(all, func(a, b store.Codebase) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}

// Register adds a codebase, or returns the one that has its root in its place.
func (s *Store) Register(ctx context.Context, asked store.Codebase) (registered store.Codebase, err error) {
	err = s.write(ctx, func(c *session) error {
		registered, err = s.register(ctx, c, asked)
		return err
	})
	if err != nil {
		return store.Codebase{}, err
	}
	return registered, nil
}

func (s *Store) register(ctx context.Context, c *session, asked store.Codebase) (store.Codebase, error) {
	standing := func() ([]store.Codebase, error) {
		return c.codebases(ctx, " AND place = $2 AND root = $3", blob(asked.Place), blob(asked.Root))
	}
	if all, err := standing(); err != nil || len(all) > 0 {
		return append(all, store.Codebase{})[0], err
	}
	if err := store.ValidCodebaseID(asked.ID); err != nil {
		return store.Codebase{}, err
	}
	// Another process may register the same root or id now; the one that waits finds it.
	now := s.now()
	n, err := c.exec(ctx, `INSERT INTO codebases (tenant, id, place, root, name, device, inode, registered_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
		string(asked.ID), blob(asked.Place), blob(asked.Root), blob(asked.Name), int64(asked.Identity.Device), int64(asked.Identity.Inode), instant(now))
	if err != nil {
		return store.Codebase{}, fmt.Errorf("register codebase %s: %w", asked.ID, err)
	}
	all, err := standing()
	if err != nil {
		return store.Codebase{}, err
	}
	if n == 0 && len(all) == 0 {
		return store.Codebase{}, fmt.Errorf("register codebase %s: the id has another root: %w", asked.ID, store.ErrConflict)
	}
	return all[0], nil
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
	return s.write(ctx, func(c *session) error { return c.updateCodebase(ctx, id, set, args...) })
}

func (c *session) updateCodebase(ctx context.Context, id store.CodebaseID, set string, args ...any) error {
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
	return s.writeAlone(ctx, func(c *session) error {
		for _, statement := range []string{
			// What only this codebase names has no grace any more.
			`UPDATE segments SET put_at = 0 WHERE tenant = $1 AND put_at <> 0
				AND id IN (SELECT unnest(segments) FROM snapshots WHERE tenant = $1 AND codebase = $2)`,
			`UPDATE contents SET put_at = 0 WHERE tenant = $1 AND put_at <> 0
				AND hash IN (SELECT content FROM manifest WHERE tenant = $1 AND codebase = $2)`,
			"DELETE FROM snapshots WHERE tenant = $1 AND codebase = $2",
			"DELETE FROM manifest WHERE tenant = $1 AND codebase = $2",
			"DELETE FROM stats WHERE tenant = $1 AND codebase = $2",
			"DELETE FROM failures WHERE tenant = $1 AND codebase = $2",
			"DELETE FROM codebases WHERE tenant = $1 AND id = $2",
		} {
			if _, err := c.exec(ctx, statement, string(id)); err != nil {
				return fmt.Errorf("clear codebase %s: %w", id, err)
			}
		}
		if _, err := c.exec(ctx, "DELETE FROM sessions WHERE tenant = $1"); err != nil {
			return fmt.Errorf("clear sessions: %w", err)
		}
		return nil
	})
}
