// Package integrity looks, while a store serves, for damage that reading it does not meet by
// itself: segments that are lost or changed, and rows that name what is not there.
package integrity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
)

// Store is what is looked at; a store.Reader is one.
type Store interface {
	store.SnapshotReader
	SegmentOpener
	Codebases(ctx context.Context) ([]store.Codebase, error)
	View(ctx context.Context, id store.CodebaseID, number uint64) (store.View, error)
	Recipe(ctx context.Context, fp store.Fingerprint) (store.Recipe, error)
}

// SegmentOpener opens segments; a store.Reader is one.
type SegmentOpener interface {
	OpenSegment(ctx context.Context, id store.SegmentID) (store.Segment, error)
}

// Sound opens every segment of the served snapshot, which tells whether its file is there
// and whole: the checksum is taken once in the life of the process. The error wraps
// store.ErrCorrupt. It is nil while nothing is served, or a snapshot of another recipe,
// whose segments this binary may not know.
func Sound(ctx context.Context, s Store, id store.CodebaseID, recipe store.Recipe) error {
	served, err := store.Served(ctx, s, id)
	if errors.Is(err, store.ErrNoSnapshot) {
		return nil
	}
	if err != nil || served.Fingerprint != recipe.Fingerprint() {
		return err
	}
	view, err := s.View(ctx, id, served.Number)
	if err != nil {
		return fmt.Errorf("view of snapshot %d: %w", served.Number, err)
	}
	for _, ref := range view.Segments {
		err := WithSegment(ctx, s, ref.ID, func(*segment.Segment) {})
		if err != nil && !errors.Is(err, store.ErrNotFound) { // merged and collected meanwhile
			return err
		}
	}
	return nil
}

// Contradicts looks for what one table of the store names and another does not have, which
// reads like something that never was. The error wraps store.ErrCorrupt, and id names the
// codebase that it is about, "" for all.
func Contradicts(ctx context.Context, s Store) (id store.CodebaseID, err error) {
	codebases, err := s.Codebases(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range codebases {
		err := complete(ctx, s, c)
		if store.IsDamage(err) {
			return c.ID, err
		}
		if !errors.Is(err, store.ErrNotFound) {
			continue
		}
		again, lerr := s.Codebases(ctx) // it may have been cleared meanwhile
		listed := slices.ContainsFunc(again, func(b store.Codebase) bool { return b.ID == c.ID && b.Current == c.Current })
		if lerr == nil && listed {
			return c.ID, fmt.Errorf("%w, although the store lists it: %w", err, store.ErrCorrupt)
		}
	}
	return "", nil
}

// complete looks up what the row of a codebase names and what its served snapshot names.
func complete(ctx context.Context, s Store, c store.Codebase) error {
	if _, err := s.Codebase(ctx, c.ID); err != nil || c.Current == 0 {
		return err
	}
	served, err := s.Snapshot(ctx, c.ID, c.Current)
	if err != nil {
		return err
	}
	if _, err := s.Recipe(ctx, served.Fingerprint); err != nil {
		return err
	}
	if _, err := s.View(ctx, c.ID, c.Current); err != nil {
		return err
	}
	local, ok := s.(interface {
		CheckContents(ctx context.Context, id store.CodebaseID, number uint64) error
	})
	if !ok {
		return nil
	}
	return local.CheckContents(ctx, c.ID, c.Current)
}

// WithSegment calls fn with an open segment.
func WithSegment(ctx context.Context, s SegmentOpener, id store.SegmentID, fn func(*segment.Segment)) (err error) {
	handle, err := s.OpenSegment(ctx, id)
	if err != nil {
		return fmt.Errorf("open %w", err)
	}
	defer func() { err = errors.Join(err, handle.Close()) }()
	seg, err := segment.Open(handle.Bytes())
	if err != nil {
		return fmt.Errorf("segment %d: %w", id, err)
	}
	fn(seg)
	return nil
}
