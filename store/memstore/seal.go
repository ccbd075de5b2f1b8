package memstore

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// View returns a sealed snapshot with its segments.
func (s *Store) View(ctx context.Context, id store.CodebaseID, number uint64) (view store.View, err error) {
	err = s.read(ctx, func() error {
		view, err = rules.View(ctx, rows{s}, id, number)
		return err
	})
	return view, err
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
	return s.write(ctx, func() error { return rules.Seal(ctx, rows{s}, seal) })
}

// ReplaceSegments swaps the list of segments of a sealed snapshot.
func (s *Store) ReplaceSegments(ctx context.Context, id store.CodebaseID, number uint64, from, to []store.SegmentID) error {
	return s.write(ctx, func() error { return rules.ReplaceSegments(ctx, rows{s}, id, number, from, to) })
}

func (r rows) Segments(_ context.Context, ids []store.SegmentID) (map[store.SegmentID]store.SegmentRef, error) {
	known := map[store.SegmentID]store.SegmentRef{}
	for _, id := range ids {
		if g, ok := r.s.segments[id]; ok {
			known[id] = g.ref
		}
	}
	return known, nil
}

func (r rows) EndGraceOfSegments(_ context.Context, ids []store.SegmentID) error {
	for _, id := range ids {
		if g, ok := r.s.segments[id]; ok {
			g.at = time.Time{}
		}
	}
	return nil
}

func (r rows) Dead(_ context.Context, number uint64, ids []store.SegmentID) (map[store.SegmentID][]uint32, error) {
	dead := map[store.SegmentID][]uint32{}
	for _, id := range ids {
		for ordinal, since := range r.s.segments[id].dead {
			if since <= number {
				dead[id] = append(dead[id], ordinal)
			}
		}
	}
	return dead, nil
}

func (r rows) AddDead(_ context.Context, number uint64, dead map[store.SegmentID][]uint32) error {
	for id, ordinals := range dead {
		for _, ordinal := range ordinals {
			if since, ok := r.s.segments[id].dead[ordinal]; !ok || number < since {
				r.s.segments[id].dead[ordinal] = number
			}
		}
	}
	return nil
}
