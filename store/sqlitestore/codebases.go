package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
	"github.com/freshet/freshet/sync/merkle"
)

// codebase is a row of the table of codebases.
type codebase struct {
	store.Codebase
	key int64
}

func (c *session) codebase(id store.CodebaseID) (codebase, error) {
	all, err := c.codebases(" WHERE id = ?", string(id))
	if err == nil && len(all) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return codebase{}, fmt.Errorf("codebase %s: %w", id, err)
	}
	return all[0], nil
}

// codebases lists the codebases that a condition selects.
func (c *session) codebases(condition string, args ...any) (all []codebase, err error) {
	err = c.eachCodebase(condition, args, func(b codebase, err error) error {
		all = append(all, b)
		return err
	})
	return all, err
}

// eachCodebase calls fn for the codebases that a condition selects, with what is wrong with
// the row.
func (c *session) eachCodebase(condition string, args []any, fn func(b codebase, err error) error) error {
	r := newRecord("codebases", codebaseColumns)
	err := c.each("SELECT "+codebaseColumns+" FROM codebases"+condition, args, func(rows *sql.Rows) error {
		err := r.scan(rows)
		b := r.codebase()
		return fn(b, firstError(err, r.end()))
	})
	if err != nil {
		return fmt.Errorf("list codebases: %w", err)
	}
	return nil
}

func (c *session) putCodebase(b codebase) error {
	var w columns
	w.codebase(b)
	values := w.summed("codebases")
	// What an index has does not change; to set it would write the pages of the index.
	err := c.exec(`UPDATE codebases SET name = ?5, device = ?6, inode = ?7, registered_at = ?8,
		current = ?9, latest = ?10, failure = ?11, sum = ?12 WHERE key = ?1`, values...)
	if err != nil {
		return fmt.Errorf("put codebase %s: %w", b.ID, err)
	}
	return nil
}

// Codebase returns one codebase.
func (s *Store) Codebase(ctx context.Context, id store.CodebaseID) (found store.Codebase, err error) {
	err = s.view(ctx, func(c *session) error {
		b, err := c.codebase(id)
		if err != nil {
			return err
		}
		var newest int64
		if _, err := c.one("SELECT number FROM snapshots WHERE codebase = ? ORDER BY number DESC LIMIT 1", []any{b.key}, &newest); err != nil {
			return fmt.Errorf("newest snapshot of codebase %s: %w", id, err)
		}
		found = b.Codebase
		return b.agrees(uint64(newest)) //nolint:gosec // we number snapshots from 1
	})
	return found, err
}

// listed is codebases with a row that is damaged shown as a codebase that failed: it costs
// itself only.
func (c *session) listed() (all []codebase, err error) {
	err = c.eachCodebase("", nil, func(b codebase, err error) error {
		if errors.Is(err, store.ErrCorrupt) && b.key != 0 && store.ValidCodebaseID(b.ID) == nil {
			b.Codebase = store.Codebase{ID: b.ID, Name: filepath.Base(b.Root), Root: b.Root, Place: b.Place, Failure: fmt.Sprintf("%v; %s", err, repairAdvice)}
			err = nil
		}
		all = append(all, b)
		return err
	})
	return all, err
}

// Codebases lists all, sorted by name, then id. One whose row is damaged is among them with
// its id, its root and that it failed.
func (s *Store) Codebases(ctx context.Context) (all []store.Codebase, err error) {
	err = s.view(ctx, func(c *session) error {
		listed, err := c.listed()
		for _, b := range listed {
			all = append(all, b.Codebase)
		}
		return err
	})
	rules.SortCodebases(all)
	return all, err
}

// Register adds a codebase, or returns the one that has its place and root.
func (s *Store) Register(ctx context.Context, asked store.Codebase) (registered store.Codebase, err error) {
	err = s.change(ctx, func(r *rows) error {
		registered, err = rules.Register(ctx, r, asked, s.now())
		return err
	})
	return registered, err
}

// SetIdentity records the identity of the codebase's root.
func (s *Store) SetIdentity(ctx context.Context, id store.CodebaseID, identity store.RootIdentity) error {
	return s.changeCodebase(ctx, id, func(b *codebase) { b.Identity = identity })
}

// SetFailure records why indexing failed.
func (s *Store) SetFailure(ctx context.Context, id store.CodebaseID, reason string) error {
	return s.changeCodebase(ctx, id, func(b *codebase) { b.Failure = reason })
}

func (s *Store) changeCodebase(ctx context.Context, id store.CodebaseID, change func(b *codebase)) error {
	return s.write(ctx, func(c *session) error {
		b, err := c.codebase(id)
		if err != nil {
			return err
		}
		change(&b)
		return c.putCodebase(b)
	})
}

// Clear removes a codebase. Its committed events stay in the outbox.
func (s *Store) Clear(ctx context.Context, id store.CodebaseID) error {
	return s.change(ctx, func(r *rows) error { return rules.Clear(ctx, r, id) })
}

// Codebase returns one codebase.
func (r *rows) Codebase(_ context.Context, id store.CodebaseID) (store.Codebase, error) {
	b, err := r.codebase(id)
	return b.Codebase, err
}

func (r *rows) codebase(id store.CodebaseID) (codebase, error) {
	if b, ok := r.known[id]; ok {
		return b, nil
	}
	b, err := r.c.codebase(id)
	if err == nil {
		r.known[id] = b
	}
	return b, err
}

// Codebases lists all.
func (r *rows) Codebases(context.Context) (all []store.Codebase, err error) {
	found, err := r.c.codebases("")
	for _, b := range found {
		r.known[b.ID] = b
		all = append(all, b.Codebase)
	}
	return all, err
}

// CodebaseAt returns the codebase that has a root in a place.
func (r *rows) CodebaseAt(_ context.Context, place, root string) (store.Codebase, error) {
	all, err := r.c.codebases(" WHERE root = ? AND place = ?", blob(root), blob(place))
	if err == nil && len(all) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Codebase{}, fmt.Errorf("codebase at %q: %w", root, err)
	}
	return all[0].Codebase, nil
}

// AddCodebase adds a codebase whose root is not taken, unless its id is.
func (r *rows) AddCodebase(_ context.Context, c store.Codebase) (bool, error) {
	var one int
	taken, err := r.c.one("SELECT 1 FROM codebases WHERE id = ?", []any{string(c.ID)}, &one)
	if err != nil || taken {
		return false, err
	}
	result, err := r.c.change(`INSERT INTO codebases (id, place, root, name, device, inode, current, latest, failure, sum)
		VALUES (?, ?, ?, x'', 0, 0, 0, 0, x'', 0)`, string(c.ID), blob(c.Place), blob(c.Root))
	if err != nil {
		return false, err
	}
	b := codebase{Codebase: c}
	if b.key, err = result.LastInsertId(); err != nil {
		return false, err
	}
	return true, r.c.putCodebase(b)
}

// PutHeads writes a codebase whose heads changed.
func (r *rows) PutHeads(_ context.Context, c store.Codebase) error {
	b, err := r.codebase(c.ID)
	if err != nil {
		return err
	}
	b.Current, b.Latest = c.Current, c.Latest
	r.known[c.ID] = b
	return r.c.putCodebase(b)
}

// EndGraceOf ends the grace of the contents and segments that a codebase names.
func (r *rows) EndGraceOf(ctx context.Context, id store.CodebaseID) error {
	b, err := r.codebase(id)
	if err != nil {
		return err
	}
	all, err := r.Snapshots(ctx, id)
	if err != nil {
		return err
	}
	for _, n := range all {
		if err := r.EndGraceOfSegments(ctx, n.Segments); err != nil {
			return err
		}
	}
	contents := map[merkle.Hash]bool{}
	err = r.c.eachFile("WHERE codebase = ? AND content IS NOT NULL", []any{b.key},
		func(f fileRow) error {
			contents[f.Content] = true
			return nil
		})
	if err != nil {
		return fmt.Errorf("read manifests of codebase %s: %w", id, err)
	}
	for h := range contents {
		if err := r.c.exec("UPDATE contents SET put_at = 0 WHERE hash = ?", h[:]); err != nil {
			return fmt.Errorf("age content %s: %w", h.Short(), err)
		}
	}
	return nil
}

// DropCodebase drops a codebase with its rows.
func (r *rows) DropCodebase(_ context.Context, id store.CodebaseID) error {
	b, err := r.codebase(id)
	if err != nil {
		return err
	}
	for _, table := range []string{"snapshots", "manifest", "stats", "failures"} {
		if err := r.c.exec("DELETE FROM "+table+" WHERE codebase = ?", b.key); err != nil {
			return fmt.Errorf("clear %s: %w", table, err)
		}
	}
	delete(r.known, id)
	return r.c.exec("DELETE FROM codebases WHERE key = ?", b.key)
}

// DropSessions drops every session.
func (r *rows) DropSessions(context.Context) error { return r.c.exec("DELETE FROM sessions") }
