package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
)

// Recipe returns the recipe of a fingerprint.
func (s *Store) Recipe(ctx context.Context, fp store.Fingerprint) (recipe store.Recipe, err error) {
	err = s.read(ctx, func() error {
		r, ok := s.recipes[fp]
		if !ok {
			return fmt.Errorf("recipe %s: %w", fp.Short(), store.ErrNotFound)
		}
		recipe = r
		recipe.Grammars = maps.Clone(r.Grammars)
		return nil
	})
	return recipe, err
}

// Snapshot returns one retained snapshot.
func (s *Store) Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (found store.Snapshot, err error) {
	err = s.read(ctx, func() error {
		_, n, err := s.snapshot(id, number)
		if err == nil {
			found = n.Snapshot
		}
		return err
	})
	return found, err
}

// Snapshots lists the retained snapshots, newest first.
func (s *Store) Snapshots(ctx context.Context, id store.CodebaseID) (all []store.Snapshot, err error) {
	err = s.read(ctx, func() error {
		c, err := s.codebase(id)
		if err == nil {
			all = c.newestFirst()
		}
		return err
	})
	return all, err
}

func (c *codebase) newestFirst() []store.Snapshot {
	var all []store.Snapshot
	for _, n := range c.snapshots {
		all = append(all, n.Snapshot)
	}
	slices.SortFunc(all, func(a, b store.Snapshot) int { return cmp.Compare(b.Number, a.Number) })
	return all
}

// Open opens a snapshot.
func (s *Store) Open(ctx context.Context, o store.Opening) (opened store.Snapshot, err error) {
	err = s.write(ctx, func() error {
		c, err := s.codebase(o.Codebase)
		if err != nil {
			return err
		}
		fingerprint := o.Recipe.Fingerprint()
		if n, ok := c.snapshots[o.Number]; ok && n.Root == o.Root && n.Fingerprint == fingerprint {
			opened = n.Snapshot
			return nil
		}
		if err := s.mayOpen(c, o); err != nil {
			return fmt.Errorf("open snapshot %d of codebase %s: %w", o.Number, o.Codebase, err)
		}
		n := c.open(o, fingerprint)
		c.snapshots[o.Number], c.Latest = n, o.Number
		recipe := o.Recipe
		recipe.Grammars = maps.Clone(recipe.Grammars)
		s.recipes[fingerprint] = recipe
		s.putContents(o.Contents)
		if o.Retry {
			clear(c.failures)
		}
		c.putStats(o.Stats, o.StatRemoves)
		s.putOutbox(o.Events)
		opened = n.Snapshot
		return nil
	})
	return opened, err
}

func (s *Store) mayOpen(c *codebase, o store.Opening) error {
	if o.Number != c.Latest+1 || o.Parent != c.Latest {
		return fmt.Errorf("the latest is %d: %w", c.Latest, store.ErrConflict)
	}
	if n, ok := c.snapshots[c.Latest]; ok && n.Level != store.LevelFull && !n.Abandoned {
		return fmt.Errorf("snapshot %d: %w", c.Latest, store.ErrAwaitingSeal)
	}
	if err := verify(o.Contents); err != nil {
		return err
	}
	brought := map[string]bool{}
	for _, content := range o.Contents {
		brought[string(content.Hash[:])] = true
	}
	seen := map[string]bool{}
	for _, f := range o.Upserts {
		if seen[f.Path] {
			return fmt.Errorf("path %q is upserted twice", f.Path)
		}
		seen[f.Path] = true
		if _, stored := s.contents[f.Content]; !stored && !brought[string(f.Content[:])] {
			return fmt.Errorf("content %s of %q: %w", f.Content.Short(), f.Path, store.ErrIncomplete)
		}
	}
	return nil
}

func (c *codebase) open(o store.Opening, fingerprint store.Fingerprint) *snapshot {
	n := &snapshot{
		Snapshot: store.Snapshot{
			Codebase: o.Codebase, Number: o.Number, Parent: o.Parent, Fingerprint: fingerprint,
			Root: o.Root, Rebuild: o.Rebuild, OpenedAt: instant(o.At), Ref: o.Ref,
		},
		files: map[string]file{},
	}
	if parent, ok := c.snapshots[o.Parent]; ok {
		n.files = maps.Clone(parent.files)
	}
	changed := map[string]bool{}
	for _, path := range o.Removes {
		if _, ok := n.files[path]; ok {
			delete(n.files, path)
			changed[path] = true
		}
	}
	for _, f := range o.Upserts {
		n.files[f.Path] = file{f, o.Number}
		changed[f.Path] = true
	}
	n.Changed = len(changed)
	for _, f := range n.files {
		n.Files++
		n.Bytes += f.Size
	}
	if !o.Rebuild {
		n.Base = c.base(fingerprint)
	}
	n.upserted, n.removed = c.delta(n)
	return n
}

// base is the newest snapshot sealed full under a fingerprint.
func (c *codebase) base(fingerprint store.Fingerprint) uint64 {
	for _, n := range c.newestFirst() {
		if n.Level == store.LevelFull && n.Fingerprint == fingerprint {
			return n.Number
		}
	}
	return 0
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

// Abandon gives up a snapshot that is not sealed full.
func (s *Store) Abandon(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.write(ctx, func() error {
		_, n, err := s.snapshot(id, number)
		if err != nil {
			return err
		}
		if n.Level == store.LevelFull {
			return fmt.Errorf("abandon snapshot %d, which is full: %w", number, store.ErrConflict)
		}
		n.Abandoned = true
		return nil
	})
}

// SetCurrent serves another sealed snapshot.
func (s *Store) SetCurrent(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.write(ctx, func() error {
		c, n, err := s.snapshot(id, number)
		if err != nil {
			return err
		}
		if n.Level == store.LevelOpen {
			return fmt.Errorf("serve snapshot %d: %w", number, store.ErrNoSnapshot)
		}
		c.Current = number
		return nil
	})
}

// SetPinned keeps a snapshot from collection, or stops keeping it.
func (s *Store) SetPinned(ctx context.Context, id store.CodebaseID, number uint64, pinned bool) error {
	return s.write(ctx, func() error {
		_, n, err := s.snapshot(id, number)
		if err == nil {
			n.Pinned = pinned
		}
		return err
	})
}
