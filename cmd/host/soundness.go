package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
)

// sound opens every segment of the served snapshot, which tells whether its file is there
// and whole: the checksum is taken once in the life of the process. The error wraps
// store.ErrCorrupt. It is nil while nothing is served, or a snapshot of another recipe,
// whose segments this binary may not know.
func (h *Host) sound(ctx context.Context, id store.CodebaseID) error {
	served, err := h.served(ctx, id)
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

func damaged(err error) bool {
	return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrChecksum)
}

// adviseDamage says how to repair a damaged index of a codebase.
func adviseDamage(id store.CodebaseID, err error) error {
	if err == nil || !damaged(err) {
		return err
	}
	return tool.Errorf(tool.CodeStoreUnavailable, "the index is damaged: %w", err).Next(repairStep(id))
}

func repairStep(id store.CodebaseID) tool.NextStep {
	return command(fmt.Sprintf("freshet verify %s --repair", id), "makes what is damaged again from the files on disk")
}
