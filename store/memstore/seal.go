package memstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/freshet/freshet/store"
)

// View returns a sealed snapshot with its segments.
func (s *Store) View(ctx context.Context, id store.CodebaseID, number uint64) (view store.View, err error) {
	err = s.read(ctx, func() error {
		_, n, err := s.snapshot(id, number)
		switch {
		case err != nil && number == 0:
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
			view.Segments = append(view.Segments, s.segments[sid].asOf(number))
		}
		return nil
	})
	return view, err
}

// asOf is the segment as part of a snapshot.
func (g *segment) asOf(number uint64) store.SegmentRef {
	ref := g.ref
	for ordinal, since := range g.dead {
		if since <= number {
			ref.Dead = append(ref.Dead, ordinal)
		}
	}
	slices.Sort(ref.Dead)
	return ref
}

// OpenSegment returns the bytes of a segment.
func (s *Store) OpenSegment(ctx context.Context, id store.SegmentID) (opened store.Segment, err error) {
	err = s.read(ctx, func() error {
		g, ok := s.segments[id]
		if !ok {
			return fmt.Errorf("segment %d: %w", id, store.ErrNotFound)
		}
		opened = handle(g.data)
		return nil
	})
	return opened, err
}

// handle is an open segment; the garbage collector releases it.
type handle []byte

// Bytes returns the segment.
func (h handle) Bytes() []byte { return h }

// Close does nothing.
func (h handle) Close() error { return nil }

// PutSegment stores a segment under a new id.
func (s *Store) PutSegment(ctx context.Context, id store.CodebaseID, files, chunks int, data []byte) (made store.SegmentID, err error) {
	err = s.write(ctx, func() error {
		if _, err := s.codebase(id); err != nil {
			return err
		}
		s.lastSegment++
		made = s.lastSegment
		s.segments[made] = &segment{
			ref:  store.SegmentRef{ID: made, Files: files, Chunks: chunks, Bytes: int64(len(data))},
			data: bytes.Clone(data),
			at:   s.now(),
			dead: map[uint32]uint64{},
		}
		return nil
	})
	return made, err
}

// Seal makes a snapshot readable at a level and current.
func (s *Store) Seal(ctx context.Context, seal store.Seal) error {
	return s.write(ctx, func() error {
		c, n, err := s.snapshot(seal.Codebase, seal.Number)
		if err != nil {
			return err
		}
		if seal.Level == store.LevelOpen || seal.Level > store.LevelFull {
			return fmt.Errorf("seal snapshot %d at level %d: no such level", seal.Number, seal.Level)
		}
		if n.Level >= seal.Level {
			return nil
		}
		if err := s.maySeal(c, n, seal); err != nil {
			return fmt.Errorf("seal snapshot %d: %w", seal.Number, err)
		}
		for sid, ordinals := range seal.Dead {
			for _, ordinal := range ordinals {
				if since, ok := s.segments[sid].dead[ordinal]; !ok || seal.Number < since {
					s.segments[sid].dead[ordinal] = seal.Number
				}
			}
		}
		s.superseded(n.segments, seal.Segments)
		n.Level, n.SealedAt, n.segments = seal.Level, instant(seal.At), slices.Clone(seal.Segments)
		c.Current = seal.Number
		s.putOutbox(seal.Events)
		return nil
	})
}

func (s *Store) maySeal(c *codebase, n *snapshot, seal store.Seal) error {
	if seal.Number < c.Current {
		return fmt.Errorf("snapshot %d is current: %w", c.Current, store.ErrConflict)
	}
	if n.Abandoned {
		return fmt.Errorf("it was abandoned: %w", store.ErrConflict)
	}
	if seal.Level == store.LevelFull {
		if lacking := s.pending(c, n, s.recipes[n.Fingerprint]); len(lacking) > 0 {
			return store.Incomplete(lacking)
		}
	}
	if err := s.exist(seal.Segments); err != nil {
		return err
	}
	for sid, ordinals := range seal.Dead {
		if err := s.exist([]store.SegmentID{sid}); err != nil {
			return err
		}
		for _, ordinal := range ordinals {
			if int64(ordinal) >= int64(s.segments[sid].ref.Files) {
				return fmt.Errorf("segment %d has no file %d", sid, ordinal)
			}
		}
	}
	return nil
}

func (s *Store) exist(ids []store.SegmentID) error {
	for _, id := range ids {
		if _, ok := s.segments[id]; !ok {
			return fmt.Errorf("segment %d: %w", id, store.ErrNotFound)
		}
	}
	return nil
}

// ReplaceSegments swaps the list of segments of a sealed snapshot.
func (s *Store) ReplaceSegments(ctx context.Context, id store.CodebaseID, number uint64, from, to []store.SegmentID) error {
	return s.write(ctx, func() error {
		_, n, err := s.snapshot(id, number)
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
		if err := s.exist(to); err != nil {
			return err
		}
		s.superseded(n.segments, to)
		n.segments = slices.Clone(to)
		return nil
	})
}

// superseded ends the grace of segments that a snapshot named and names no more.
func (s *Store) superseded(before, after []store.SegmentID) {
	for _, id := range before {
		if g, ok := s.segments[id]; ok && !slices.Contains(after, id) {
			g.at = time.Time{}
		}
	}
}
