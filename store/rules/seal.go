package rules

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/freshet/freshet/store"
)

// Seal makes a snapshot readable at a level and current; see store.Writer.
func Seal(ctx context.Context, rows Rows, seal store.Seal) error {
	c, err := rows.Codebase(ctx, seal.Codebase)
	if err != nil {
		return err
	}
	n, err := rows.Snapshot(ctx, seal.Codebase, seal.Number)
	if err != nil {
		return err
	}
	if seal.Level == store.LevelOpen || seal.Level > store.LevelFull {
		return fmt.Errorf("seal snapshot %d at level %d: no such level", seal.Number, seal.Level)
	}
	if n.Level >= seal.Level {
		return nil
	}
	if err := maySeal(ctx, rows, c, n, seal); err != nil {
		return fmt.Errorf("seal snapshot %d: %w", seal.Number, err)
	}
	before := n.Segments
	n.Level, n.SealedAt, n.Segments = seal.Level, Instant(seal.At), seal.Segments
	c.Current = seal.Number
	return inOrder(
		func() error { return rows.AddDead(ctx, seal.Number, seal.Dead) },
		func() error { return supersede(ctx, rows, before, seal.Segments) },
		func() error { return rows.UpdateSnapshot(ctx, n) },
		func() error { return rows.PutHeads(ctx, c) },
		func() error { return rows.PutOutbox(ctx, seal.Events) },
	)
}

// maySeal returns why a seal is refused.
func maySeal(ctx context.Context, rows Rows, c store.Codebase, n Snapshot, seal store.Seal) error {
	if seal.Number < c.Current {
		return fmt.Errorf("snapshot %d is current: %w", c.Current, store.ErrConflict)
	}
	if n.Abandoned {
		return fmt.Errorf("it was abandoned: %w", store.ErrConflict)
	}
	if seal.Level == store.LevelFull {
		lacking, err := lacking(ctx, rows, n.Snapshot)
		if err != nil {
			return err
		}
		if len(lacking) > 0 {
			return store.Incomplete(lacking)
		}
	}
	known, err := exist(ctx, rows, slices.AppendSeq(slices.Clone(seal.Segments), maps.Keys(seal.Dead)))
	if err != nil {
		return err
	}
	for id, ordinals := range seal.Dead {
		for _, ordinal := range ordinals {
			if int64(ordinal) >= int64(known[id].Files) {
				return fmt.Errorf("segment %d has no file %d", id, ordinal)
			}
		}
	}
	return nil
}

// exist returns segments, or store.ErrNotFound when one is missing.
func exist(ctx context.Context, rows SegmentRows, ids []store.SegmentID) (map[store.SegmentID]store.SegmentRef, error) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil, nil
	}
	known, err := rows.Segments(ctx, ids)
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

// supersede ends the grace of segments that a snapshot named and names no more.
func supersede(ctx context.Context, rows SegmentRows, before, after []store.SegmentID) error {
	gone := slices.DeleteFunc(slices.Clone(before), func(id store.SegmentID) bool { return slices.Contains(after, id) })
	if len(gone) == 0 {
		return nil
	}
	return rows.EndGraceOfSegments(ctx, gone)
}

// ReplaceSegments swaps the list of segments of a sealed snapshot; see store.Writer.
func ReplaceSegments(ctx context.Context, rows Rows, id store.CodebaseID, number uint64, from, to []store.SegmentID) error {
	n, err := held(ctx, rows, id, number)
	if err != nil {
		return err
	}
	if n.Level == store.LevelOpen {
		return fmt.Errorf("replace segments of snapshot %d: %w", number, store.ErrNoSnapshot)
	}
	if slices.Equal(n.Segments, to) {
		return nil
	}
	if !slices.Equal(n.Segments, from) {
		return fmt.Errorf("replace segments of snapshot %d: %w", number, store.ErrConflict)
	}
	if _, err := exist(ctx, rows, slices.Clone(to)); err != nil {
		return err
	}
	if err := supersede(ctx, rows, n.Segments, to); err != nil {
		return err
	}
	n.Segments = to
	return rows.UpdateSnapshot(ctx, n)
}

// View returns a sealed snapshot with its segments; see store.Reader.
func View(ctx context.Context, rows Rows, id store.CodebaseID, number uint64) (store.View, error) {
	if number == 0 {
		if _, err := rows.Codebase(ctx, id); err != nil {
			return store.View{}, err
		}
		return store.View{}, fmt.Errorf("view of codebase %s: %w", id, store.ErrNoSnapshot)
	}
	n, err := rows.Snapshot(ctx, id, number)
	switch {
	case err != nil:
		return store.View{}, err
	case n.Level == store.LevelOpen:
		return store.View{}, fmt.Errorf("view of snapshot %d: %w", number, store.ErrNoSnapshot)
	case n.Fingerprint == "":
		return store.View{}, fmt.Errorf("view of snapshot %d: %w", number, store.ErrNoFingerprint)
	}
	refs, err := Refs(ctx, rows, n)
	if err != nil {
		return store.View{}, fmt.Errorf("view of snapshot %d: %w", number, err)
	}
	return store.View{Snapshot: n.Snapshot, Segments: refs}, nil
}

// Refs are the segments of a snapshot with the files that are dead in it. One that is gone
// is store.ErrCorrupt: collections leave what a snapshot names.
func Refs(ctx context.Context, rows SegmentRows, n Snapshot) (refs []store.SegmentRef, err error) {
	if len(n.Segments) == 0 {
		return nil, nil
	}
	known, err := rows.Segments(ctx, n.Segments)
	if err != nil {
		return nil, err
	}
	dead, err := rows.Dead(ctx, n.Number, n.Segments)
	if err != nil {
		return nil, err
	}
	for _, id := range n.Segments {
		ref, ok := known[id]
		if !ok {
			return nil, fmt.Errorf("segment %d is gone: %w", id, store.ErrCorrupt)
		}
		slices.Sort(dead[id])
		ref.Dead = slices.Compact(slices.Clone(dead[id]))
		refs = append(refs, ref)
	}
	return refs, nil
}
