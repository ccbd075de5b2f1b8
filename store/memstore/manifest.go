package memstore

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
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
		upserted, removed, err = rules.Delta(ctx, rows{s}, id, number)
		return err
	})
	return upserted, removed, err
}

// Pending lists the work of a snapshot.
func (s *Store) Pending(ctx context.Context, id store.CodebaseID, number uint64, recipe store.Recipe) (pending []store.PendingFile, err error) {
	err = s.read(ctx, func() error {
		pending, err = rules.Pending(ctx, rows{s}, id, number, recipe)
		return err
	})
	return pending, err
}

func (r rows) Progress(_ context.Context, embedding string, keys []store.SyntaxKey) (chunked, embedded map[store.SyntaxKey]bool, err error) {
	chunked, embedded = map[store.SyntaxKey]bool{}, map[store.SyntaxKey]bool{}
	for _, k := range keys {
		_, chunked[k] = r.s.syntaxes[k]
		embedded[k] = r.s.embedded[embeddedKey{embedding, k}]
	}
	return chunked, embedded, nil
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
		if _, err := s.codebase(id); err != nil {
			return err
		}
		return rows{s}.PutStats(ctx, id, upserts, removes)
	})
}

func (r rows) PutStats(_ context.Context, id store.CodebaseID, upserts []store.StatEntry, removes []string) error {
	c := r.s.codebases[id]
	for _, path := range removes {
		delete(c.stats, path)
	}
	for _, e := range upserts {
		c.stats[e.Path] = e
	}
	return nil
}
