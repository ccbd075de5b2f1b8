package apply

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
)

// Bounds of adopting: a first snapshot of fewer files is built as soon, and the files of no
// more codebases are compared.
const (
	adoptFiles = 100
	maxTwins   = 3
)

// adoption is what a first snapshot takes over from the index of a clone, a worktree or
// another branch of the same tree: segments, whose bytes say nothing of a codebase, so that
// what was built once need not be built again.
type adoption struct {
	wanted   map[string]store.FileEntry // by path, of what may be taken
	taken    map[string]bool            // by path
	segments []store.SegmentID
	dead     map[store.SegmentID][]uint32 // the files of each that the snapshot does not have
}

// adopt copies segments for a codebase that has no index yet, and returns the entries that
// remain to be built. Whatever keeps it from reading another index is logged.
func (s *Sealer) adopt(ctx context.Context, id store.CodebaseID, entries []store.FileEntry) (a *adoption, rest []store.FileEntry, err error) {
	a = &adoption{taken: map[string]bool{}, dead: map[store.SegmentID][]uint32{}}
	codebase, err := s.store.Codebase(ctx, id)
	if err != nil || codebase.Current != 0 || len(entries) < adoptFiles {
		return a, entries, err
	}
	a.wanted = make(map[string]store.FileEntry, len(entries))
	for _, e := range entries {
		a.wanted[e.Path] = lasting(e)
	}
	twin, err := s.twin(ctx, codebase, a.wanted)
	if err == nil {
		err = s.adoptSegments(ctx, id, twin.Segments, a)
	}
	if ctx.Err() != nil {
		return a, nil, ctx.Err()
	}
	if err != nil {
		s.opts.Log.Warn("index of a clone not taken over", "codebase", id, "of", twin.Snapshot.Codebase, "error", err)
	}
	if len(a.taken) > 0 {
		s.opts.Log.Info("index of a clone taken over", "codebase", id, "of", twin.Snapshot.Codebase, "files", len(a.taken))
	}
	return a, slices.DeleteFunc(slices.Clone(entries), func(e store.FileEntry) bool { return a.taken[e.Path] }), nil
}

// lasting is an entry without what is of one snapshot only.
func lasting(e store.FileEntry) store.FileEntry {
	e.RenamedFrom = ""
	return e
}

// twin returns the view of another codebase that shares at least half of what is wanted,
// and takes what failed there from what is wanted. No view has a segment when there is none.
func (s *Sealer) twin(ctx context.Context, codebase store.Codebase, wanted map[string]store.FileEntry) (store.View, error) {
	candidates, err := s.twins(ctx, codebase, len(wanted))
	if err != nil {
		return store.View{}, err
	}
	for _, c := range candidates {
		shared := 0
		for e, err := range s.store.Manifest(ctx, c.Codebase, c.Number) {
			if err != nil {
				return store.View{}, err
			}
			if wanted[e.Path] == lasting(e) {
				shared++
			}
		}
		if shared < len(wanted)/2 {
			continue
		}
		failures, err := s.store.Failures(ctx, c.Codebase)
		if err != nil {
			return store.View{}, err
		}
		for _, f := range failures {
			delete(wanted, f.Path)
		}
		return s.store.View(ctx, c.Codebase, c.Number)
	}
	return store.View{}, nil
}

// twins lists what other codebases serve under this recipe that may share most of so many
// files, the likeliest first.
func (s *Sealer) twins(ctx context.Context, codebase store.Codebase, files int) ([]store.Snapshot, error) {
	all, err := s.store.Codebases(ctx)
	if err != nil {
		return nil, err
	}
	var list []store.Snapshot
	named := map[store.CodebaseID]bool{}
	for _, other := range all {
		if other.ID == codebase.ID || other.Current == 0 {
			continue
		}
		served, err := s.store.Snapshot(ctx, other.ID, other.Current)
		if err != nil {
			continue //nolint:nilerr // it was cleared meanwhile, or cannot be read
		}
		if served.Level == store.LevelFull && served.Fingerprint == s.fingerprint && served.Files >= files/2 {
			named[other.ID] = other.Name == codebase.Name
			list = append(list, served)
		}
	}
	slices.SortStableFunc(list, func(a, b store.Snapshot) int {
		if named[a.Codebase] != named[b.Codebase] {
			if named[a.Codebase] {
				return -1
			}
			return 1
		}
		return cmp.Compare(max(a.Files-files, files-a.Files), max(b.Files-files, files-b.Files))
	})
	return list[:min(maxTwins, len(list))], nil
}

// adoptSegments copies those segments of which most is wanted, a few at a time. What was
// copied before an error is taken over all the same.
func (s *Sealer) adoptSegments(ctx context.Context, id store.CodebaseID, refs []store.SegmentRef, a *adoption) error {
	copies := make([]segmentCopy, len(refs))
	var g errgroup.Group
	g.SetLimit(s.opts.Builders)
	for i, ref := range refs {
		g.Go(func() (err error) {
			copies[i], err = s.copySegment(ctx, id, ref, a.wanted)
			return err
		})
	}
	err := g.Wait()
	for _, c := range copies {
		if c.made == 0 {
			continue
		}
		a.segments = append(a.segments, c.made)
		if len(c.dead) > 0 {
			a.dead[c.made] = c.dead
		}
		for _, path := range c.paths {
			a.taken[path] = true
		}
	}
	return err
}

// segmentCopy is a segment that was copied: its files that are wanted, by path, and the
// ordinals of the others. made is 0 when it was not worth it.
type segmentCopy struct {
	made  store.SegmentID
	paths []string
	dead  []uint32
}

// copySegment copies a segment of which most is wanted. A path is alive in one segment of a
// view.
func (s *Sealer) copySegment(ctx context.Context, id store.CodebaseID, ref store.SegmentRef, wanted map[string]store.FileEntry) (c segmentCopy, err error) {
	handle, err := s.store.OpenSegment(ctx, ref.ID)
	if err != nil {
		return c, err
	}
	defer func() { _ = handle.Close() }() // it was only read
	g, err := segment.Open(handle.Bytes())
	if err != nil {
		return c, err
	}
	for ordinal := range uint32(g.Files()) {
		entry := g.File(int(ordinal)).Entry
		if isDead(ref.Dead, ordinal) || wanted[entry.Path] != entry {
			c.dead = append(c.dead, ordinal)
		} else {
			c.paths = append(c.paths, entry.Path)
		}
	}
	if len(c.paths) < ref.Files/2 {
		return c, nil
	}
	c.made, err = s.store.PutSegment(ctx, id, ref.Files, ref.Chunks, handle.Bytes())
	return c, err
}
