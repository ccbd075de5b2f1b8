package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/freshet/freshet/store"
)

// Compact merges segments of the current snapshot that the merge policy names. It changes
// nothing that a reader can see: the same files, in fewer segments. It reports whether it
// merged anything. An index that did not change since the last merge is left alone.
func (s *Sealer) Compact(ctx context.Context, id store.CodebaseID) (bool, error) {
	codebase, err := s.store.Codebase(ctx, id)
	if err != nil || codebase.Current == 0 {
		return false, err
	}
	view, err := s.store.View(ctx, id, codebase.Current)
	if err != nil {
		return false, err
	}
	if view.Snapshot.Fingerprint != s.fingerprint || view.Snapshot.Level != store.LevelFull {
		return false, nil
	}
	t := s.track(id)
	kept, merged := compaction(view.Segments, t.settled)
	if len(merged) == 0 {
		return false, nil
	}
	built, err := s.merge(ctx, id, merged)
	if err != nil {
		return false, fmt.Errorf("compact %s: %w", id, err)
	}
	if built == nil {
		t.settle(merged)
		return false, nil
	}
	var old, next []store.SegmentID
	for _, ref := range view.Segments {
		old = append(old, ref.ID)
	}
	for _, ref := range kept {
		next = append(next, ref.ID)
	}
	t.sealing.Lock()
	defer t.sealing.Unlock()
	err = s.store.ReplaceSegments(ctx, id, view.Snapshot.Number, old, append(next, built...))
	if errors.Is(err, store.ErrConflict) {
		return false, nil // a newer seal came first; its segments are looked at next time
	}
	if err != nil {
		return false, err
	}
	s.opts.Log.Info("segments merged", "codebase", id, "snapshot", view.Snapshot.Number, "from", len(merged), "to", len(built))
	return true, nil
}

// merge builds segments that hold the live files of others. It returns nil when that would
// not make them fewer, or when rows of a file are lost: what the old segments hold is right.
func (s *Sealer) merge(ctx context.Context, id store.CodebaseID, refs []store.SegmentRef) ([]store.SegmentID, error) {
	entries, err := s.gather(ctx, refs, nil)
	if err != nil {
		return nil, err
	}
	parts := split(entries, 1)
	if len(parts) >= len(refs) && !slices.ContainsFunc(refs, mostlyDead) {
		return nil, nil
	}
	want, err := s.standard(ctx, id, store.LevelFull)
	if err != nil {
		return nil, err
	}
	built, err := s.build(ctx, id, parts, sumLive(refs), want)
	var torn *tornError
	if errors.As(err, &torn) {
		s.opts.Log.Warn("segments left unmerged", "codebase", id, "segments", len(refs), "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return built, nil
}
