package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
	"github.com/freshet/freshet/sync/merkle"
)

// codebase is a row of the table of codebases.
type codebase struct {
	store.Codebase
	key int64
}

func (b *codebase) scan(rows *sql.Rows) error {
	var id string
	var root, body []byte
	if err := rows.Scan(&b.key, &id, &root, &body); err != nil {
		return err
	}
	return b.decode(id, root, body)
}

// decode takes the columns of a row whose key is known.
func (b *codebase) decode(id string, root, body []byte) error {
	value, err := unseal(body, "codebases", number(b.key), []byte(id), root)
	if err != nil {
		place, at, ok := strings.Cut(string(root), "\x00")
		if !ok {
			place, at = "", string(root)
		}
		b.Codebase = store.Codebase{ID: store.CodebaseID(id), Name: filepath.Base(at), Root: at, Place: place}
		return err
	}
	r := reader{buf: value}
	b.Codebase = r.codebase(id, string(root))
	if place, rest, ok := strings.Cut(b.Root, "\x00"); ok {
		b.Place, b.Root = place, rest
	}
	return r.end("codebase")
}

// site is what the column of roots holds: the root, after its place and a NUL when there
// is one.
func site(c store.Codebase) string {
	if c.Place == "" {
		return c.Root
	}
	return c.Place + "\x00" + c.Root
}

func (b *codebase) body() []byte {
	var w writer
	w.codebase(b.Codebase)
	return seal(w.buf, "codebases", number(b.key), []byte(b.ID), []byte(site(b.Codebase)))
}

func (c *session) codebase(id store.CodebaseID) (codebase, error) {
	var b codebase
	err := c.each("SELECT key, id, root, body FROM codebases WHERE id = ?", []any{string(id)}, b.scan)
	if err != nil {
		return b, fmt.Errorf("codebase %s: %w", id, err)
	}
	if b.key == 0 {
		return b, fmt.Errorf("codebase %s: %w", id, store.ErrNotFound)
	}
	return b, nil
}

func (c *session) codebases() ([]codebase, error) {
	var all []codebase
	err := c.each("SELECT key, id, root, body FROM codebases", nil, func(rows *sql.Rows) error {
		var b codebase
		if err := b.scan(rows); err != nil {
			return err
		}
		all = append(all, b)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list codebases: %w", err)
	}
	return all, nil
}

func (c *session) putCodebase(b codebase) error {
	if err := c.exec("UPDATE codebases SET body = ? WHERE key = ?", b.body(), b.key); err != nil {
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
func (c *session) listed() ([]codebase, error) {
	var all []codebase
	err := c.each("SELECT key, id, root, body FROM codebases", nil, func(rows *sql.Rows) error {
		var b codebase
		err := b.scan(rows)
		if errors.Is(err, store.ErrCorrupt) && b.key != 0 && store.ValidCodebaseID(b.ID) == nil {
			b.Failure = fmt.Sprintf("%v; %s", err, repairAdvice)
			err = nil
		}
		if err == nil {
			all = append(all, b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list codebases: %w", err)
	}
	return all, nil
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
	found, err := r.c.codebases()
	for _, b := range found {
		r.known[b.ID] = b
		all = append(all, b.Codebase)
	}
	return all, err
}

// CodebaseAt returns the codebase that has a root in a place.
func (r *rows) CodebaseAt(_ context.Context, place, root string) (store.Codebase, error) {
	var b codebase
	err := r.c.each("SELECT key, id, root, body FROM codebases WHERE root = ?", []any{blob(site(store.Codebase{Place: place, Root: root}))}, b.scan)
	if err == nil && b.key == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return b.Codebase, fmt.Errorf("codebase at %q: %w", root, err)
	}
	return b.Codebase, nil
}

// AddCodebase adds a codebase whose root is not taken, unless its id is.
func (r *rows) AddCodebase(_ context.Context, c store.Codebase) (bool, error) {
	var one int
	taken, err := r.c.one("SELECT 1 FROM codebases WHERE id = ?", []any{string(c.ID)}, &one)
	if err != nil || taken {
		return false, err
	}
	result, err := r.c.change("INSERT INTO codebases (id, root, body) VALUES (?, ?, ?)", string(c.ID), blob(site(c)), []byte{})
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
	err = r.c.eachFile(b.key, "SELECT path, first, last, body FROM manifest WHERE codebase = ? AND length(body) > ?", []any{b.key, sumSize},
		func(f store.FileEntry) error {
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
