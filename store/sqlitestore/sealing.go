package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/freshet/freshet/store"
)

// View returns a sealed snapshot with its segments.
func (s *Store) View(ctx context.Context, id store.CodebaseID, number uint64) (view store.View, err error) {
	err = s.view(ctx, func(c *session) error {
		b, n, err := c.snapshot(id, number)
		switch {
		case err != nil && number == 0 && b.key != 0:
			return fmt.Errorf("view of codebase %s: %w", id, store.ErrNoSnapshot)
		case err != nil:
			return err
		case n.Level == store.LevelOpen:
			return fmt.Errorf("view of snapshot %d: %w", number, store.ErrNoSnapshot)
		case n.Fingerprint == "":
			return fmt.Errorf("view of snapshot %d: %w", number, store.ErrNoFingerprint)
		}
		view.Snapshot = n.Snapshot
		for _, sid := range n.segments {
			g, err := c.segment(sid)
			if err != nil {
				return fmt.Errorf("view of snapshot %d: %w", number, err)
			}
			g.ref.Dead, err = c.dead(sid, 0, int64(number))
			if err != nil {
				return fmt.Errorf("view of snapshot %d: %w", number, err)
			}
			view.Segments = append(view.Segments, g.ref)
		}
		return nil
	})
	return view, err
}

// dead lists, sorted, the files of a segment that died in the snapshots from to to.
func (c *session) dead(id store.SegmentID, from, to int64) (ordinals []uint32, err error) {
	err = c.each("SELECT since, body FROM dead WHERE segment = ? AND since BETWEEN ? AND ?", []any{int64(id), from, to}, func(rows *sql.Rows) error {
		var since int64
		var body []byte
		if err := rows.Scan(&since, &body); err != nil {
			return err
		}
		value, err := unseal(body, "dead", number(int64(id)), number(since))
		if err != nil {
			return err
		}
		r := reader{buf: value}
		last := uint64(0)
		for range min(r.uint(), uint64(len(r.buf))) {
			last += r.uint()
			ordinals = append(ordinals, uint32(last))
		}
		return r.end("list of dead files")
	})
	if err != nil {
		return nil, fmt.Errorf("dead files of segment %d: %w", id, err)
	}
	slices.Sort(ordinals)
	return slices.Compact(ordinals), nil
}

// putDead adds files to those of a segment that die with a snapshot.
func (c *session) putDead(id store.SegmentID, since int64, ordinals []uint32) error {
	if len(ordinals) == 0 {
		return nil
	}
	before, err := c.dead(id, since, since)
	if err != nil {
		return err
	}
	all := slices.Concat(before, ordinals)
	slices.Sort(all)
	all = slices.Compact(all)
	var w writer
	w.uint(uint64(len(all)))
	last := uint32(0)
	for _, ordinal := range all {
		w.uint(uint64(ordinal - last))
		last = ordinal
	}
	err = c.exec("INSERT INTO dead (segment, since, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
		int64(id), since, seal(w.buf, "dead", number(int64(id)), number(since)))
	if err != nil {
		return fmt.Errorf("put dead files of segment %d: %w", id, err)
	}
	return nil
}

// Seal makes a snapshot readable at a level and current.
func (s *Store) Seal(ctx context.Context, seal store.Seal) error {
	return s.write(ctx, func(c *session) error {
		b, n, err := c.snapshot(seal.Codebase, seal.Number)
		if err != nil {
			return err
		}
		if seal.Level == store.LevelOpen || seal.Level > store.LevelFull {
			return fmt.Errorf("seal snapshot %d at level %d: no such level", seal.Number, seal.Level)
		}
		if n.Level >= seal.Level {
			return nil
		}
		if err := c.maySeal(ctx, b, n, seal); err != nil {
			return fmt.Errorf("seal snapshot %d: %w", seal.Number, err)
		}
		for sid, ordinals := range seal.Dead {
			if err := c.putDead(sid, int64(seal.Number), ordinals); err != nil {
				return err
			}
		}
		if err := c.superseded(n.segments, seal.Segments); err != nil {
			return err
		}
		n.Level, n.SealedAt, n.segments = seal.Level, seal.At.Round(0).UTC(), seal.Segments
		if err := c.putSnapshot(b, n); err != nil {
			return err
		}
		b.Current = seal.Number
		if err := c.putCodebase(b); err != nil {
			return err
		}
		return c.putOutbox(seal.Events)
	})
}

func (c *session) maySeal(ctx context.Context, b codebase, n snapshot, seal store.Seal) error {
	if seal.Number < b.Current {
		return fmt.Errorf("snapshot %d is current: %w", b.Current, store.ErrConflict)
	}
	if n.Abandoned {
		return fmt.Errorf("it was abandoned: %w", store.ErrConflict)
	}
	if seal.Level == store.LevelFull {
		lacking, err := c.lacking(ctx, b, n)
		if err != nil {
			return err
		}
		if len(lacking) > 0 {
			return store.Incomplete(lacking)
		}
	}
	for _, sid := range seal.Segments {
		if _, err := c.segment(sid); err != nil {
			return err
		}
	}
	for sid, ordinals := range seal.Dead {
		g, err := c.segment(sid)
		if err != nil {
			return err
		}
		for _, ordinal := range ordinals {
			if int64(ordinal) >= int64(g.ref.Files) {
				return fmt.Errorf("segment %d has no file %d", sid, ordinal)
			}
		}
	}
	return nil
}

// ReplaceSegments swaps the list of segments of a sealed snapshot.
func (s *Store) ReplaceSegments(ctx context.Context, id store.CodebaseID, number uint64, from, to []store.SegmentID) error {
	return s.write(ctx, func(c *session) error {
		b, n, err := c.snapshot(id, number)
		if err != nil {
			return err
		}
		if n.Level == store.LevelOpen {
			return fmt.Errorf("replace segments of snapshot %d: %w", number, store.ErrNoSnapshot)
		}
		if slices.Equal(n.segments, to) {
			return nil
		}
		if !slices.Equal(n.segments, from) {
			return fmt.Errorf("replace segments of snapshot %d: %w", number, store.ErrConflict)
		}
		for _, sid := range to {
			if _, err := c.segment(sid); err != nil {
				return err
			}
		}
		if err := c.superseded(n.segments, to); err != nil {
			return err
		}
		n.segments = to
		return c.putSnapshot(b, n)
	})
}

// superseded ends the grace of segments that a snapshot named and names no more.
func (c *session) superseded(before, after []store.SegmentID) error {
	for _, id := range before {
		if slices.Contains(after, id) {
			continue
		}
		g, err := c.segment(id)
		if err != nil {
			return err
		}
		g.putAt = 0
		if err := c.exec("UPDATE segments SET body = ? WHERE id = ?", g.body(), int64(id)); err != nil {
			return fmt.Errorf("age segment %d: %w", id, err)
		}
	}
	return nil
}
