package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// Recipe returns the recipe of a fingerprint.
func (s *Store) Recipe(ctx context.Context, fp store.Fingerprint) (recipe store.Recipe, err error) {
	err = s.read(ctx, func() error {
		recipe, err = rows{s}.Recipe(ctx, fp)
		return err
	})
	return recipe, err
}

// Snapshot returns one retained snapshot.
func (s *Store) Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (found store.Snapshot, err error) {
	err = s.read(ctx, func() error {
		n, err := rows{s}.Snapshot(ctx, id, number)
		found = n.Snapshot
		return err
	})
	return found, err
}

// Snapshots lists the retained snapshots, newest first.
func (s *Store) Snapshots(ctx context.Context, id store.CodebaseID) (all []store.Snapshot, err error) {
	err = s.read(ctx, func() error {
		all, err = rules.Snapshots(ctx, rows{s}, id)
		return err
	})
	return all, err
}

// Open opens a snapshot.
func (s *Store) Open(ctx context.Context, o store.Opening) (opened store.Snapshot, err error) {
	err = s.write(ctx, func() error {
		opened, err = rules.Open(ctx, rows{s}, o, func() error { return s.putContents(o.Contents) })
		return err
	})
	return opened, err
}

// Abandon gives up a snapshot that is not sealed full.
func (s *Store) Abandon(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.write(ctx, func() error { return rules.Abandon(ctx, rows{s}, id, number) })
}

// SetCurrent serves another sealed snapshot.
func (s *Store) SetCurrent(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.write(ctx, func() error { return rules.SetCurrent(ctx, rows{s}, id, number) })
}

// SetPinned keeps a snapshot from collection, or stops keeping it.
func (s *Store) SetPinned(ctx context.Context, id store.CodebaseID, number uint64, pinned bool) error {
	return s.write(ctx, func() error { return rules.SetPinned(ctx, rows{s}, id, number, pinned) })
}

func (r rows) Snapshot(_ context.Context, id store.CodebaseID, number uint64) (rules.Snapshot, error) {
	_, n, err := r.s.snapshot(id, number)
	if err != nil {
		return rules.Snapshot{}, err
	}
	return rules.Snapshot{Snapshot: n.Snapshot, Segments: n.segments}, nil
}

func (r rows) AddSnapshot(_ context.Context, n store.Snapshot) error {
	// The edit of its manifest made it.
	r.s.codebases[n.Codebase].snapshots[n.Number].Snapshot = n
	return nil
}

func (r rows) UpdateSnapshot(_ context.Context, n rules.Snapshot) error {
	held := r.s.codebases[n.Codebase].snapshots[n.Number]
	held.Level, held.SealedAt, held.Abandoned, held.Pinned = n.Level, n.SealedAt, n.Abandoned, n.Pinned
	held.segments = slices.Clone(n.Segments)
	return nil
}

func (r rows) Recipe(_ context.Context, fp store.Fingerprint) (store.Recipe, error) {
	recipe, ok := r.s.recipes[fp]
	if !ok {
		return store.Recipe{}, fmt.Errorf("recipe %s: %w", fp.Short(), store.ErrNotFound)
	}
	recipe.Grammars = maps.Clone(recipe.Grammars)
	return recipe, nil
}

func (r rows) AddRecipe(_ context.Context, fp store.Fingerprint, recipe store.Recipe) error {
	recipe.Grammars = maps.Clone(recipe.Grammars)
	r.s.recipes[fp] = recipe
	return nil
}

// EditManifest copies the whole manifest of the parent, and keeps the delta as it is now.
func (r rows) EditManifest(_ context.Context, n store.Snapshot, upserts []store.FileEntry, removes []string) (ended rules.Ended, err error) {
	c := r.s.codebases[n.Codebase]
	made := &snapshot{Snapshot: n, files: map[string]file{}}
	if parent, ok := c.snapshots[n.Parent]; ok {
		made.files = maps.Clone(parent.files)
	}
	end := func(path string) bool {
		f, had := made.files[path]
		if had {
			ended.Files++
			ended.Bytes += f.Size
			delete(made.files, path)
		}
		return had
	}
	for _, path := range removes {
		if end(path) {
			ended.Removed++
		}
	}
	for _, f := range upserts {
		end(f.Path)
		made.files[f.Path] = file{f, n.Number}
	}
	made.upserted, made.removed = c.delta(made)
	c.snapshots[n.Number] = made
	return ended, nil
}

func (c *codebase) delta(n *snapshot) (upserted []store.FileEntry, removed []string) {
	for _, f := range n.files {
		if f.began > n.Base {
			upserted = append(upserted, f.FileEntry)
		}
	}
	if base, ok := c.snapshots[n.Base]; ok {
		for path := range base.files {
			if _, kept := n.files[path]; !kept {
				removed = append(removed, path)
			}
		}
	}
	slices.SortFunc(upserted, func(a, b store.FileEntry) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(removed)
	return upserted, removed
}

func (r rows) Upserted(_ context.Context, n store.Snapshot) ([]store.FileEntry, error) {
	return slices.Clone(r.s.codebases[n.Codebase].snapshots[n.Number].upserted), nil
}

func (r rows) Removed(_ context.Context, n store.Snapshot) ([]string, error) {
	return slices.Clone(r.s.codebases[n.Codebase].snapshots[n.Number].removed), nil
}
