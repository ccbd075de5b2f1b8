package memstore

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/freshet/freshet/store"
)

// Manifest yields the files of a snapshot.
func (s *Store) Manifest(ctx context.Context, id store.CodebaseID, number uint64) iter.Seq2[store.FileEntry, error] {
	return func(yield func(store.FileEntry, error) bool) {
		var files map[string]file
		err := s.read(ctx, func() error {
			_, n, err := s.snapshot(id, number)
			if err == nil {
				files = n.files // never changed after the snapshot was opened
			}
			return err
		})
		if err != nil {
			yield(store.FileEntry{}, err)
			return
		}
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if !yield(files[path].FileEntry, nil) {
				return
			}
		}
	}
}

// File returns one file of a snapshot.
func (s *Store) File(ctx context.Context, id store.CodebaseID, number uint64, path string) (entry store.FileEntry, err error) {
	err = s.read(ctx, func() error {
		_, n, err := s.snapshot(id, number)
		if err != nil {
			return err
		}
		f, ok := n.files[path]
		if !ok {
			return fmt.Errorf("file %q of snapshot %d: %w", path, number, store.ErrNotFound)
		}
		entry = f.FileEntry
		return nil
	})
	return entry, err
}

// Delta returns what a snapshot changed against its base.
func (s *Store) Delta(ctx context.Context, id store.CodebaseID, number uint64) (upserted []store.FileEntry, removed []string, err error) {
	err = s.read(ctx, func() error {
		_, n, err := s.snapshot(id, number)
		if err == nil {
			upserted, removed = slices.Clone(n.upserted), slices.Clone(n.removed)
		}
		return err
	})
	return upserted, removed, err
}

// Pending lists the work of a snapshot.
func (s *Store) Pending(ctx context.Context, id store.CodebaseID, number uint64, recipe store.Recipe) (pending []store.PendingFile, err error) {
	err = s.read(ctx, func() error {
		c, n, err := s.snapshot(id, number)
		if err == nil {
			pending = s.pending(c, n, recipe)
		}
		return err
	})
	return pending, err
}

func (s *Store) pending(c *codebase, n *snapshot, recipe store.Recipe) (pending []store.PendingFile) {
	rule := store.NewRule(recipe, slices.Collect(maps.Values(c.failures)))
	for _, f := range n.upserted {
		key := rule.Key(f)
		_, chunked := s.syntaxes[key]
		if standing := rule.Standing(f, chunked, s.embedded[embeddedKey{rule.Embedding(), key}]); !standing.Settled() {
			pending = append(pending, store.PendingFile{FileEntry: f, Stage: standing.Lacks})
		}
	}
	return pending
}

// Stats yields every stat entry of a codebase.
func (s *Store) Stats(ctx context.Context, id store.CodebaseID) iter.Seq2[store.StatEntry, error] {
	return func(yield func(store.StatEntry, error) bool) {
		var stats map[string]store.StatEntry
		err := s.read(ctx, func() error {
			c, err := s.codebase(id)
			if err == nil {
				stats = maps.Clone(c.stats)
			}
			return err
		})
		if err != nil {
			yield(store.StatEntry{}, err)
			return
		}
		for _, path := range slices.Sorted(maps.Keys(stats)) {
			if !yield(stats[path], nil) {
				return
			}
		}
	}
}

// PutStats changes stat entries.
func (s *Store) PutStats(ctx context.Context, id store.CodebaseID, upserts []store.StatEntry, removes []string) error {
	return s.write(ctx, func() error {
		c, err := s.codebase(id)
		if err == nil {
			c.putStats(upserts, removes)
		}
		return err
	})
}

func (c *codebase) putStats(upserts []store.StatEntry, removes []string) {
	for _, path := range removes {
		delete(c.stats, path)
	}
	for _, e := range upserts {
		c.stats[e.Path] = e
	}
}
