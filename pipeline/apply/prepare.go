package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
)

// prepare builds the segments of a snapshot against its base: what changed becomes new
// segments, what it replaces becomes dead in the old ones, and small old segments are
// taken up into the new. A first snapshot takes over what the index of a clone has.
func (s *Sealer) prepare(ctx context.Context, snapshot store.Snapshot, level store.Level) (store.Seal, int, error) {
	seal := store.Seal{Codebase: snapshot.Codebase, Number: snapshot.Number, Level: level, At: s.opts.Now().UTC()}
	upserted, removed, err := s.store.Delta(ctx, snapshot.Codebase, snapshot.Number)
	if err != nil {
		return seal, 0, err
	}
	changed := len(upserted) + len(removed)
	var base store.View
	if snapshot.Base > 0 {
		if base, err = s.store.View(ctx, snapshot.Codebase, snapshot.Base); err != nil {
			return seal, 0, fmt.Errorf("view of base %d: %w", snapshot.Base, err)
		}
	}
	seal.Dead, err = s.superseded(ctx, base, upserted, removed)
	if err != nil {
		return seal, 0, err
	}
	taken, upserted, err := s.adopt(ctx, snapshot.Codebase, upserted)
	if err != nil {
		return seal, 0, err
	}
	maps.Copy(seal.Dead, taken.dead)
	want, err := s.standard(ctx, snapshot.Codebase, level)
	if err != nil {
		return seal, 0, err
	}
	kept, absorbed := plan(withDead(base.Segments, seal.Dead), len(upserted))
	merged, err := s.gather(ctx, absorbed, upserted)
	if err != nil {
		return seal, 0, err
	}
	built, err := s.build(ctx, snapshot.Codebase, split(merged, s.opts.Builders), sumLive(absorbed), want)
	var torn *tornError
	if errors.As(err, &torn) && torn.beside(upserted) {
		// What the old segments hold is right: they stay as they are.
		kept, absorbed = plan(withDead(base.Segments, seal.Dead), 0)
		built, err = s.build(ctx, snapshot.Codebase, split(upserted, s.opts.Builders), 0, want)
	}
	if err != nil {
		return seal, 0, err
	}
	for _, ref := range absorbed {
		delete(seal.Dead, ref.ID)
	}
	for _, ref := range kept {
		seal.Segments = append(seal.Segments, ref.ID)
	}
	seal.Segments = append(append(seal.Segments, taken.segments...), built...)
	return seal, changed, nil
}

// superseded finds the live files of a view that a delta replaces or removes.
func (s *Sealer) superseded(ctx context.Context, base store.View, upserted []store.FileEntry, removed []string) (map[store.SegmentID][]uint32, error) {
	dead := map[store.SegmentID][]uint32{}
	for _, ref := range base.Segments {
		err := s.with(ctx, ref.ID, func(seg *segment.Segment) error {
			mark := func(path string) {
				if ordinal, ok := find(seg, path); ok && !isDead(ref.Dead, ordinal) {
					dead[ref.ID] = append(dead[ref.ID], ordinal)
				}
			}
			for _, f := range upserted {
				mark(f.Path)
			}
			for _, path := range removed {
				mark(path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		slices.Sort(dead[ref.ID])
	}
	return dead, nil
}

// with opens a segment for the length of a call.
func (s *Sealer) with(ctx context.Context, id store.SegmentID, use func(*segment.Segment) error) error {
	handle, err := s.store.OpenSegment(ctx, id)
	if err != nil {
		return fmt.Errorf("open segment %d: %w", id, err)
	}
	seg, err := segment.Open(handle.Bytes())
	if err != nil {
		return errors.Join(fmt.Errorf("read segment %d: %w", id, err), handle.Close())
	}
	return errors.Join(use(seg), handle.Close())
}

// find looks up the ordinal of a path. The sealer adds files in the order of their paths.
func find(seg *segment.Segment, path string) (uint32, bool) {
	i, found := sort.Find(seg.Files(), func(i int) int { return strings.Compare(path, string(seg.Path(i))) })
	return uint32(i), found
}

// withDead returns the refs with the newly dead ordinals merged in.
func withDead(refs []store.SegmentRef, dead map[store.SegmentID][]uint32) []store.SegmentRef {
	out := slices.Clone(refs)
	for i, ref := range out {
		if more := dead[ref.ID]; len(more) > 0 {
			merged := append(slices.Clone(ref.Dead), more...)
			slices.Sort(merged)
			out[i].Dead = slices.Compact(merged)
		}
	}
	return out
}

// absorbLimit is the most files that a seal takes up from old segments, so that an edit is
// searchable at once; larger merges are Compact's.
const absorbLimit = 512

// plan decides which segments of a base are taken up into the new one, as the levels of a
// log-structured merge tree are (O'Neil et al., 1996): from the newest backwards while
// they are no larger than twice what is being written. Segments without a live file go.
func plan(refs []store.SegmentRef, writing int) (kept, absorbed []store.SegmentRef) {
	tail := len(refs)
	for tail > 0 {
		live := alive(refs[tail-1])
		if live > 2*writing || writing+live > absorbLimit {
			break
		}
		writing += live
		tail--
	}
	for i, ref := range refs {
		switch {
		case alive(ref) == 0:
		case i >= tail:
			absorbed = append(absorbed, ref)
		default:
			kept = append(kept, ref)
		}
	}
	return kept, absorbed
}

// gather returns the live files of segments and more entries, sorted by path.
func (s *Sealer) gather(ctx context.Context, refs []store.SegmentRef, more []store.FileEntry) ([]store.FileEntry, error) {
	all := slices.Clone(more)
	for _, ref := range refs {
		entries, err := s.liveEntries(ctx, ref)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	slices.SortFunc(all, byPath)
	return all, nil
}

// liveEntries lists the live files of a segment.
func (s *Sealer) liveEntries(ctx context.Context, ref store.SegmentRef) ([]store.FileEntry, error) {
	entries := make([]store.FileEntry, 0, alive(ref))
	err := s.with(ctx, ref.ID, func(seg *segment.Segment) error {
		for ordinal := range uint32(ref.Files) {
			if !isDead(ref.Dead, ordinal) {
				entries = append(entries, seg.File(int(ordinal)).Entry)
			}
		}
		return nil
	})
	return entries, err
}
