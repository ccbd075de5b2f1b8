package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/freshet/freshet/store"
)

// Bounds of Compact: a snapshot may have this many segments, and a segment this share of
// dead files, before it is worth a merge.
const (
	maxSegments  = 8
	maxDeadShare = 0.3
)

// Compact merges segments of the current snapshot when there are many, or when one is
// largely dead. It changes nothing that a reader can see: the same files, in fewer
// segments. It reports whether it merged anything.
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
	kept, merged := compaction(view.Segments)
	if len(merged) == 0 {
		return false, nil
	}
	var entries []store.FileEntry
	var old, next []store.SegmentID
	for _, ref := range view.Segments {
		old = append(old, ref.ID)
	}
	for _, ref := range merged {
		live, err := s.liveEntries(ctx, ref)
		if err != nil {
			return false, err
		}
		entries = append(entries, live...)
	}
	slices.SortFunc(entries, byPath)
	built, err := s.build(ctx, id, entries)
	if err != nil {
		return false, fmt.Errorf("compact %s: %w", id, err)
	}
	for _, ref := range kept {
		next = append(next, ref.ID)
	}
	next = append(next, built...)
	t := s.track(id)
	t.sealing.Lock()
	defer t.sealing.Unlock()
	err = s.store.ReplaceSegments(ctx, id, view.Snapshot.Number, old, next)
	if errors.Is(err, store.ErrConflict) {
		return false, nil // a newer seal came first; its segments are looked at next time
	}
	return err == nil, err
}

// compaction picks the segments to merge: every one with too many dead files, and, when
// there are too many segments, all but the largest few.
func compaction(refs []store.SegmentRef) (kept, merged []store.SegmentRef) {
	bySize := slices.Clone(refs)
	slices.SortStableFunc(bySize, func(a, b store.SegmentRef) int { return alive(b) - alive(a) })
	crowded := map[store.SegmentID]bool{}
	if len(refs) > maxSegments {
		for _, ref := range bySize[maxSegments/2:] {
			crowded[ref.ID] = true
		}
	}
	for _, ref := range refs {
		if crowded[ref.ID] || float64(len(ref.Dead)) > maxDeadShare*float64(ref.Files) {
			merged = append(merged, ref)
		} else {
			kept = append(kept, ref)
		}
	}
	return kept, merged
}
