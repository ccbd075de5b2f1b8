package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// invariants are what the rules of a store keep true whatever was called before, said again
// without those rules: of the snapshots that await a seal, of what is served, and of what
// manifests, deltas and bases say of each other.
func invariants(ctx context.Context, s store.Store) error {
	codebases, err := s.Codebases(ctx)
	if err != nil {
		return err
	}
	for _, c := range codebases {
		if err := invariantsOf(ctx, s, c); err != nil {
			return fmt.Errorf("codebase %s: %w", c.ID, err)
		}
	}
	return nil
}

func invariantsOf(ctx context.Context, s store.Store, c store.Codebase) error {
	all, err := s.Snapshots(ctx, c.ID)
	if err != nil {
		return err
	}
	byNumber := map[uint64]store.Snapshot{}
	trees := map[uint64]map[string]store.FileEntry{}
	for _, n := range all {
		byNumber[n.Number] = n
		if trees[n.Number], err = treeOf(ctx, s, n); err != nil {
			return err
		}
	}
	current, served := byNumber[c.Current]
	switch {
	case len(all) > 0 && all[0].Number != c.Latest:
		return fmt.Errorf("latest is %d, the newest is %d", c.Latest, all[0].Number)
	case c.Current > 0 && (!served || current.Level == store.LevelOpen):
		return fmt.Errorf("serves %d, which is not sealed", c.Current)
	}
	for i, n := range all {
		if i > 0 && n.Level != store.LevelFull && !n.Abandoned {
			return fmt.Errorf("snapshot %d awaits its seal below %d", n.Number, all[0].Number)
		}
		base, retained := byNumber[n.Base]
		switch {
		case n.Parent != n.Number-1 || n.Base > n.Parent || n.Rebuild && n.Base != 0:
			return fmt.Errorf("snapshot %d has parent %d and base %d, rebuild %v", n.Number, n.Parent, n.Base, n.Rebuild)
		case retained && (base.Level != store.LevelFull || base.Fingerprint != n.Fingerprint):
			return fmt.Errorf("snapshot %d has the base %d, of level %v", n.Number, n.Base, base.Level)
		case i == 0 && n.Base > 0 && n.Level != store.LevelFull && !retained:
			return fmt.Errorf("the base %d of snapshot %d, which awaits its seal, was collected", n.Base, n.Number)
		}
		if err := deltaAgrees(ctx, s, n, trees[n.Number], trees[n.Base]); err != nil {
			return fmt.Errorf("snapshot %d: %w", n.Number, err)
		}
	}
	return nil
}

// treeOf reads a manifest and compares it with what its snapshot counts. Every content that
// it names is there.
func treeOf(ctx context.Context, s store.Store, n store.Snapshot) (map[string]store.FileEntry, error) {
	files, size, last := map[string]store.FileEntry{}, int64(0), ""
	var hashes []merkle.Hash
	for f, err := range s.Manifest(ctx, n.Codebase, n.Number) {
		if err != nil {
			return nil, err
		}
		if len(files) > 0 && f.Path <= last {
			return nil, fmt.Errorf("manifest of %d: %q follows %q", n.Number, f.Path, last)
		}
		files[f.Path], last, hashes = f, f.Path, append(hashes, f.Content)
		size += f.Size
	}
	if len(files) != n.Files || size != n.Bytes {
		return nil, fmt.Errorf("snapshot %d counts %d files of %d bytes and has %d of %d", n.Number, n.Files, n.Bytes, len(files), size)
	}
	has, err := s.HasContents(ctx, hashes)
	for _, h := range hashes {
		if err == nil && !has[h] {
			err = fmt.Errorf("snapshot %d: content %s was collected", n.Number, h.Short())
		}
	}
	return files, err
}

// deltaAgrees compares a delta with the difference of the manifests. base is nil when it was
// collected.
func deltaAgrees(ctx context.Context, s store.Store, n store.Snapshot, files, base map[string]store.FileEntry) error {
	upserted, removed, err := s.Delta(ctx, n.Codebase, n.Number)
	if err != nil {
		return err
	}
	changed := map[string]bool{}
	for _, f := range upserted {
		if files[f.Path] != f {
			return fmt.Errorf("its delta upserts %+v, its manifest has %+v", f, files[f.Path])
		}
		changed[f.Path] = true
	}
	if n.Base == 0 {
		if len(removed) > 0 || len(changed) != len(files) {
			return errors.New("without a base its delta is not its manifest")
		}
		return nil
	}
	if base == nil {
		return nil
	}
	for path, f := range files {
		if before, had := base[path]; !changed[path] && (!had || before != f) {
			return fmt.Errorf("%q differs from the base and is not upserted", path)
		}
	}
	gone := slices.Sorted(maps.Keys(base))
	gone = slices.DeleteFunc(gone, func(path string) bool { _, kept := files[path]; return kept })
	if !slices.Equal(gone, removed) {
		return fmt.Errorf("its delta removes %q, its manifest lacks %q", removed, gone)
	}
	return nil
}
