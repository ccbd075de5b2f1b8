package merklesync

import (
	"context"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// state is what a synchronizer knows between checks. Trees are immutable and share what
// they have in common.
type state struct {
	loaded   bool
	codebase store.Codebase
	scanner  *scan.Scanner
	index    *scan.Index
	latest   store.Snapshot
	stale    []string // stat entries of other ignore rules, to be removed
	// observed is the tree as last scanned, opened that of the newest snapshot, and full
	// that of the newest snapshot known to be sealed full.
	observed, opened, full *merkle.Tree
	pending                pending
	// kept are the paths that the last scan could not read and has in the tree as they were.
	kept []string
}

// pending remembers what two trees differ in, since many checks ask for the same two.
type pending struct {
	known bool
	a, b  *merkle.Tree
	named []string
	count int
}

// between returns the first MaxNamed paths that differ, and how many do. The paths are
// shared and must not be changed.
func (p *pending) between(a, b *merkle.Tree) ([]string, int) {
	if p.known && p.a == a && p.b == b {
		return p.named, p.count
	}
	*p = pending{known: true, a: a, b: b}
	for _, c := range merkle.Diff(a, b) {
		if len(p.named) < MaxNamed {
			p.named = append(p.named, c.Path)
		}
		p.count++
	}
	return p.named, p.count
}

// awaiting reports whether the newest snapshot awaits sealing.
func (st *state) awaiting() bool {
	return st.latest.Number > 0 && st.latest.Level != store.LevelFull && !st.latest.Abandoned
}

// sealed takes note of a seal.
func (st *state) sealed(snapshot store.Snapshot) {
	if !st.loaded || snapshot.Number != st.latest.Number {
		return
	}
	st.latest.Level = snapshot.Level
	if snapshot.Level == store.LevelFull {
		st.full = st.opened
	}
}

// load reads the last known state from the store, once.
func (s *Synchronizer) load(ctx context.Context) error {
	if s.state.loaded {
		return nil
	}
	codebase, err := s.store.Codebase(ctx, s.id)
	if err != nil {
		return err
	}
	st := state{codebase: codebase, scanner: s.scanner(codebase)}
	if codebase.Latest > 0 {
		if st.latest, err = s.store.Snapshot(ctx, s.id, codebase.Latest); err != nil {
			return err
		}
	}
	if err := s.loadIndex(ctx, &st); err != nil {
		return err
	}
	if st.observed, err = st.index.Tree(); err != nil {
		return err
	}
	if st.opened, err = s.treeOf(ctx, &st, codebase.Latest); err != nil {
		return err
	}
	st.full = st.opened
	if st.latest.Level != store.LevelFull {
		if st.full, err = s.treeOf(ctx, &st, st.latest.Base); err != nil {
			return err
		}
	}
	st.loaded = true
	s.state = st
	return nil
}

// loadIndex reads what the last scan saw. What was seen under other ignore rules is only
// remembered by its paths: those rules decided what is in the tree.
func (s *Synchronizer) loadIndex(ctx context.Context, st *state) error {
	var err error
	if st.index, err = scan.LoadIndex(s.store.Stats(ctx, s.id)); err != nil || st.latest.Number == 0 {
		return err
	}
	recipe, err := s.store.Recipe(ctx, st.latest.Fingerprint)
	if err != nil || recipe.IgnoreRules == s.opts.Recipe.IgnoreRules {
		return err
	}
	for entry := range st.index.Entries() {
		st.stale = append(st.stale, entry.Path)
	}
	st.index = nil
	return nil
}

// treeOf builds the tree of a snapshot; when it is the tree last observed, as it mostly
// is, that one is shared and no manifest is read.
func (s *Synchronizer) treeOf(ctx context.Context, st *state, number uint64) (*merkle.Tree, error) {
	if number == 0 {
		return nil, nil
	}
	snapshot, err := s.store.Snapshot(ctx, s.id, number)
	if err != nil {
		return nil, err
	}
	if snapshot.Root == st.observed.Root() {
		return st.observed, nil
	}
	var failed error
	tree, err := merkle.Build(func(yield func(string, merkle.Leaf) bool) {
		for entry, err := range s.store.Manifest(ctx, s.id, number) {
			if err != nil {
				failed = err
				return
			}
			if !yield(entry.Path, merkle.Leaf{Content: entry.Content}) {
				return
			}
		}
	})
	if failed != nil {
		return nil, failed
	}
	return tree, err
}

// forget drops what is known of the files that differ from the newest snapshot, so that
// the next scan reads them again.
func (s *Synchronizer) forget(ctx context.Context) error {
	var paths []string
	for _, c := range merkle.Diff(s.state.opened, s.state.observed) {
		if c.Kind != merkle.Removed {
			paths = append(paths, c.Path)
		}
	}
	if err := s.store.PutStats(ctx, s.id, nil, paths); err != nil {
		return err
	}
	s.state = state{}
	return s.load(ctx)
}
