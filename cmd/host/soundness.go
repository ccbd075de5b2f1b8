package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
)

// sound opens every segment of the served snapshot, which tells whether its file is there
// and whole: the checksum is taken once in the life of the process. The error wraps
// store.ErrCorrupt. It is nil while nothing is served, or a snapshot of another recipe,
// whose segments this binary may not know.
func (h *Host) sound(ctx context.Context, id store.CodebaseID) error {
	served, err := store.Served(ctx, h.reads, id)
	if errors.Is(err, store.ErrNoSnapshot) {
		return nil
	}
	if err != nil || served.Fingerprint != h.recipe.Fingerprint() {
		return err
	}
	view, err := h.store.View(ctx, id, served.Number)
	if err != nil {
		return fmt.Errorf("view of snapshot %d: %w", served.Number, err)
	}
	for _, ref := range view.Segments {
		err := h.withSegment(ctx, ref.ID, func(*segment.Segment) {})
		if err != nil && !errors.Is(err, store.ErrNotFound) { // merged and collected meanwhile
			return err
		}
	}
	return nil
}

// contradicts looks for what one table of the store names and another does not have, which
// reads like something that never was. The error wraps store.ErrCorrupt.
func (h *Host) contradicts(ctx context.Context) error {
	codebases, err := h.store.Codebases(ctx)
	if err != nil {
		return advice.Damage("", err)
	}
	for _, c := range codebases {
		err := h.complete(ctx, c)
		if advice.IsDamage(err) {
			return advice.Damage(c.ID, err)
		}
		if !errors.Is(err, store.ErrNotFound) {
			continue
		}
		again, lerr := h.store.Codebases(ctx) // it may have been cleared meanwhile
		listed := slices.ContainsFunc(again, func(b store.Codebase) bool { return b.ID == c.ID && b.Current == c.Current })
		if lerr == nil && listed {
			return advice.Damage(c.ID, fmt.Errorf("%w, although the store lists it: %w", err, store.ErrCorrupt))
		}
	}
	return nil
}

// complete looks up what the row of a codebase names and what its served snapshot names.
func (h *Host) complete(ctx context.Context, c store.Codebase) error {
	if _, err := h.store.Codebase(ctx, c.ID); err != nil || c.Current == 0 {
		return err
	}
	served, err := h.store.Snapshot(ctx, c.ID, c.Current)
	if err != nil {
		return err
	}
	if _, err := h.store.Recipe(ctx, served.Fingerprint); err != nil {
		return err
	}
	if _, err := h.store.View(ctx, c.ID, c.Current); err != nil {
		return err
	}
	local, ok := h.store.(interface {
		CheckContents(ctx context.Context, id store.CodebaseID, number uint64) error
	})
	if !ok {
		return nil
	}
	return local.CheckContents(ctx, c.ID, c.Current)
}

// withSegment calls fn with an open segment.
func (h *Host) withSegment(ctx context.Context, id store.SegmentID, fn func(*segment.Segment)) (err error) {
	handle, err := h.store.OpenSegment(ctx, id)
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
