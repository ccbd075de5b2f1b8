package pgstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
)

// View returns a sealed snapshot with its segments.
func (s *Store) View(ctx context.Context, id store.CodebaseID, number uint64) (view store.View, err error) {
	err = s.view(ctx, func(c *session) error {
		view = store.View{}
		if number == 0 {
			if _, err := c.codebase(ctx, id); err != nil {
				return err
			}
			return fmt.Errorf("view of codebase %s: %w", id, store.ErrNoSnapshot)
		}
		n, err := c.snapshot(ctx, id, number)
		switch {
		case err != nil:
			return err
		case n.Level == store.LevelOpen:
			return fmt.Errorf("view of snapshot %d: %w", number, store.ErrNoSnapshot)
		case n.Fingerprint == "":
			return fmt.Errorf("view of snapshot %d: %w", number, store.ErrNoFingerprint)
		}
		view.Snapshot = n.Snapshot
		if view.Segments, err = c.segmentRefs(ctx, n); err != nil {
			return fmt.Errorf("view of snapshot %d: %w", number, err)
		}
		return nil
	})
	return view, err
}

// segmentRefs are the segments of a snapshot with the files that are dead in it.
func (c *session) segmentRefs(ctx context.Context, n snapshot) ([]store.SegmentRef, error) {
	known, err := c.segments(ctx, n.segments)
	if err != nil {
		return nil, err
	}
	dead := map[store.SegmentID][]uint32{}
	err = c.each(ctx, "SELECT segment, ordinals FROM dead WHERE tenant = $1 AND segment = ANY($2) AND since <= $3",
		[]any{numbers(n.segments), int64(n.Number)}, func(rows pgx.Rows) error {
			var id int64
			var ordinals []int64
			if err := rows.Scan(&id, &ordinals); err != nil {
				return err
			}
			for _, ordinal := range ordinals {
				dead[store.SegmentID(id)] = append(dead[store.SegmentID(id)], uint32(ordinal))
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read dead files: %w", err)
	}
	var refs []store.SegmentRef
	for _, id := range n.segments {
		g, ok := known[id]
		if !ok {
			return nil, fmt.Errorf("segment %d is gone: %w", id, store.ErrCorrupt)
		}
		slices.Sort(dead[id])
		g.ref.Dead = slices.Compact(slices.Clone(dead[id]))
		refs = append(refs, g.ref)
	}
	return refs, nil
}

// numbers are ids as an argument.
func numbers(ids []store.SegmentID) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}

// Seal makes a snapshot readable at a level and current.
func (s *Store) Seal(ctx context.Context, seal store.Seal) error {
	return s.write(ctx, func(c *session) error {
		b, n, err := c.holdSnapshot(ctx, seal.Codebase, seal.Number)
		if err != nil {
			return err
		}
		if seal.Level == store.LevelOpen || seal.Level > store.LevelFull {
			return fmt.Errorf("seal snapshot %d at level %d: no such level", seal.Number, seal.Level)
		}
		if n.Level >= seal.Level {
			return nil
		}
		if err := s.maySeal(ctx, c, b, n, seal); err != nil {
			return fmt.Errorf("seal snapshot %d: %w", seal.Number, err)
		}
		if err := c.putDead(ctx, seal); err != nil {
			return err
		}
		if err := c.superseded(ctx, n.segments, seal.Segments); err != nil {
			return err
		}
		err = c.updateSnapshot(ctx, n, "level = $4, sealed_at = $5, segments = $6", int16(seal.Level), instant(seal.At), numbers(seal.Segments))
		if err != nil {
			return err
		}
		if err := c.updateCodebase(ctx, seal.Codebase, "current = $3", int64(seal.Number)); err != nil {
			return err
		}
		return c.putOutbox(ctx, seal.Events)
	})
}

func (s *Store) maySeal(ctx context.Context, c *session, b store.Codebase, n snapshot, seal store.Seal) error {
	if seal.Number < b.Current {
		return fmt.Errorf("snapshot %d is current: %w", b.Current, store.ErrConflict)
	}
	if n.Abandoned {
		return fmt.Errorf("it was abandoned: %w", store.ErrConflict)
	}
	if seal.Level == store.LevelFull {
		lacking, err := s.lacking(ctx, c, n)
		if err != nil {
			return err
		}
		if len(lacking) > 0 {
			return store.Incomplete(lacking)
		}
	}
	named := slices.Clone(seal.Segments)
	for id := range seal.Dead {
		named = append(named, id)
	}
	known, err := c.exist(ctx, named)
	if err != nil {
		return err
	}
	for id, ordinals := range seal.Dead {
		for _, ordinal := range ordinals {
			if int64(ordinal) >= int64(known[id].ref.Files) {
				return fmt.Errorf("segment %d has no file %d", id, ordinal)
			}
		}
	}
	return nil
}

// exist returns the segments named, or store.ErrNotFound when one is missing.
func (c *session) exist(ctx context.Context, ids []store.SegmentID) (map[store.SegmentID]storedSegment, error) {
	known, err := c.segments(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, ok := known[id]; !ok {
			return nil, fmt.Errorf("segment %d: %w", id, store.ErrNotFound)
		}
	}
	return known, nil
}

// putDead adds files to those of segments that die with a snapshot.
func (c *session) putDead(ctx context.Context, seal store.Seal) error {
	for id, ordinals := range seal.Dead {
		if len(ordinals) == 0 {
			continue
		}
		all := make([]int64, len(ordinals))
		for i, ordinal := range ordinals {
			all[i] = int64(ordinal)
		}
		_, err := c.exec(ctx, `INSERT INTO dead (tenant, segment, since, ordinals) VALUES ($1, $2, $3, $4)
			ON CONFLICT (tenant, segment, since) DO UPDATE SET ordinals = dead.ordinals || excluded.ordinals`,
			int64(id), int64(seal.Number), all)
		if err != nil {
			return fmt.Errorf("put dead files of segment %d: %w", id, err)
		}
	}
	return nil
}

// ReplaceSegments swaps the list of segments of a sealed snapshot.
func (s *Store) ReplaceSegments(ctx context.Context, id store.CodebaseID, number uint64, from, to []store.SegmentID) error {
	return s.write(ctx, func(c *session) error {
		_, n, err := c.holdSnapshot(ctx, id, number)
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
		if _, err := c.exist(ctx, to); err != nil {
			return err
		}
		if err := c.superseded(ctx, n.segments, to); err != nil {
			return err
		}
		return c.updateSnapshot(ctx, n, "segments = $4", numbers(to))
	})
}

// superseded ends the grace of segments that a snapshot named and names no more.
func (c *session) superseded(ctx context.Context, before, after []store.SegmentID) error {
	if len(before) == 0 {
		return nil
	}
	_, err := c.exec(ctx, "UPDATE segments SET put_at = 0 WHERE tenant = $1 AND id = ANY($2) AND id <> ALL($3) AND put_at <> 0",
		numbers(before), numbers(after))
	if err != nil {
		return fmt.Errorf("age segments: %w", err)
	}
	return nil
}
