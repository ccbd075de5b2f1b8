package sqlitestore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// openEnd is the end of the manifest rows of the latest snapshot.
const openEnd = math.MaxInt64

// Open opens a snapshot.
func (s *Store) Open(ctx context.Context, o store.Opening) (opened store.Snapshot, err error) {
	if err := s.usable(ctx); err != nil {
		return opened, err
	}
	o.Upserts = slices.Clone(o.Upserts)
	slices.SortFunc(o.Upserts, func(a, b store.FileEntry) int { return strings.Compare(a.Path, b.Path) })
	contents, packErr := s.packContents(ctx, o.Contents)
	err = s.write(ctx, func(c *session) error {
		b, err := c.codebase(o.Codebase)
		if err != nil {
			return err
		}
		fingerprint := o.Recipe.Fingerprint()
		all, err := c.snapshots(b)
		if err != nil {
			return err
		}
		for _, n := range all {
			if n.Number == o.Number && n.Root == o.Root && n.Fingerprint == fingerprint {
				opened = n.Snapshot
				return nil
			}
		}
		if err := mayOpen(b, all, o); err != nil {
			return fmt.Errorf("open snapshot %d of codebase %s: %w", o.Number, o.Codebase, err)
		}
		if packErr != nil {
			return packErr
		}
		if err := s.putContents(c, contents); err != nil {
			return err
		}
		n, err := c.open(ctx, b, all, o, fingerprint)
		opened = n.Snapshot
		return err
	})
	if err != nil {
		return store.Snapshot{}, err
	}
	return opened, nil
}

func mayOpen(b codebase, all []snapshot, o store.Opening) error {
	if o.Number != b.Latest+1 || o.Parent != b.Latest {
		return fmt.Errorf("the latest is %d: %w", b.Latest, store.ErrConflict)
	}
	if len(all) > 0 && all[0].Level != store.LevelFull && !all[0].Abandoned {
		return fmt.Errorf("snapshot %d: %w", b.Latest, store.ErrAwaitingSeal)
	}
	for i := 1; i < len(o.Upserts); i++ {
		if o.Upserts[i].Path == o.Upserts[i-1].Path {
			return fmt.Errorf("path %q is upserted twice", o.Upserts[i].Path)
		}
	}
	return nil
}

// open writes the rows of an opening whose contents are stored already.
func (c *session) open(ctx context.Context, b codebase, all []snapshot, o store.Opening, fingerprint store.Fingerprint) (snapshot, error) {
	n := snapshot{Snapshot: store.Snapshot{
		Codebase: o.Codebase, Number: o.Number, Parent: o.Parent, Base: base(all, o, fingerprint), Fingerprint: fingerprint,
		Root: o.Root, Rebuild: o.Rebuild, OpenedAt: o.At.Round(0).UTC(), Ref: o.Ref,
	}}
	if len(all) > 0 {
		n.Files, n.Bytes = all[0].Files, all[0].Bytes
	}
	edit := manifestEdit{c: c, codebase: b, snapshot: &n, known: map[merkle.Hash]bool{}}
	for _, content := range o.Contents {
		edit.known[content.Hash] = true
	}
	if err := edit.apply(ctx, o); err != nil {
		return n, err
	}
	if err := c.putRecipe(fingerprint, o.Recipe); err != nil {
		return n, err
	}
	if err := c.putSnapshot(b, n); err != nil {
		return n, err
	}
	b.Latest = o.Number
	if err := c.putCodebase(b); err != nil {
		return n, err
	}
	if o.Retry {
		if err := c.exec("DELETE FROM failures WHERE codebase = ?", b.key); err != nil {
			return n, fmt.Errorf("forget failures: %w", err)
		}
	}
	if err := c.putStats(b, o.Stats, o.StatRemoves); err != nil {
		return n, err
	}
	return n, c.putOutbox(o.Events)
}

// base is the newest snapshot sealed full under the fingerprint.
func base(all []snapshot, o store.Opening, fingerprint store.Fingerprint) uint64 {
	if o.Rebuild {
		return 0
	}
	for _, n := range all {
		if n.Level == store.LevelFull && n.Fingerprint == fingerprint {
			return n.Number
		}
	}
	return 0
}

// manifestEdit writes the delta of a snapshot and keeps its counts.
type manifestEdit struct {
	c        *session
	codebase codebase
	snapshot *snapshot
	// known are contents that are stored.
	known map[merkle.Hash]bool
}

func (e *manifestEdit) apply(ctx context.Context, o store.Opening) error {
	upserted := func(path string) bool {
		_, ok := slices.BinarySearchFunc(o.Upserts, path, func(f store.FileEntry, path string) int { return strings.Compare(f.Path, path) })
		return ok
	}
	removes := slices.Clone(o.Removes)
	slices.Sort(removes)
	for _, path := range slices.Compact(removes) {
		if upserted(path) {
			continue // its row is ended with the upsert
		}
		ended, err := e.end(path)
		if err != nil {
			return err
		}
		if ended {
			e.snapshot.Changed++
		}
	}
	for i, f := range o.Upserts {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := e.upsert(f); err != nil {
			return fmt.Errorf("upsert %q: %w", f.Path, err)
		}
	}
	return nil
}

func (e *manifestEdit) upsert(f store.FileEntry) error {
	if !e.known[f.Content] {
		found, err := e.c.hasContent(f.Content)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("content %s: %w", f.Content.Short(), store.ErrIncomplete)
		}
		e.known[f.Content] = true
	}
	if _, err := e.end(f.Path); err != nil {
		return err
	}
	row := manifestRow{codebase: e.codebase.key, path: blob(f.Path), first: int64(e.snapshot.Number), last: openEnd}
	e.snapshot.Files++
	e.snapshot.Bytes += f.Size
	e.snapshot.Changed++
	return e.c.exec("INSERT INTO manifest (codebase, path, first, last, body) VALUES (?, ?, ?, ?, ?)",
		row.codebase, row.path, row.first, row.last, row.seal(f))
}

// end ends the row of a path with this snapshot, if the parent has the path.
func (e *manifestEdit) end(path string) (bool, error) {
	if e.snapshot.Parent == 0 {
		return false, nil
	}
	row := manifestRow{codebase: e.codebase.key, path: blob(path), last: openEnd}
	var body []byte
	found, err := e.c.one("SELECT first, body FROM manifest WHERE codebase = ? AND path = ? AND last = ?", []any{row.codebase, row.path, int64(openEnd)}, &row.first, &body)
	if err != nil || !found {
		return false, err
	}
	f, err := row.open(body)
	if err != nil {
		return false, err
	}
	e.snapshot.Files--
	e.snapshot.Bytes -= f.Size
	row.last = int64(e.snapshot.Number)
	return true, e.c.exec("UPDATE manifest SET last = ?, body = ? WHERE codebase = ? AND path = ? AND first = ?",
		row.last, row.seal(f), row.codebase, row.path, row.first)
}
