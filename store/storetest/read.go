package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// universe is what a test may have put into a store under hashes.
type universe struct {
	texts, models []string
	chunks        string
}

// everything is all that can be read from a store.
type everything struct {
	Codebases []store.Codebase
	Trees     map[store.CodebaseID]tree
	Contents  map[string]string
	Syntaxes  map[store.SyntaxKey]store.Syntax
	Vectors   map[string]map[merkle.Hash]store.Vector
	Embedded  map[string]map[store.SyntaxKey]bool
	Recipes   map[store.Fingerprint]store.Recipe
	Outbox    []store.OutboxEvent
	Position  store.LogPosition
	Usage     store.Usage
}

type tree struct {
	Snapshots []store.Snapshot
	Manifests map[uint64][]store.FileEntry
	Upserted  map[uint64][]store.FileEntry
	Removed   map[uint64][]string
	Pending   map[uint64]map[string][]store.PendingFile
	Views     map[uint64]store.View
	Segments  map[store.SegmentID]string
	Stats     []store.StatEntry
	Failures  []store.Failure
}

// read reads everything. alias renames segments, so that stores with other ids compare.
func read(ctx context.Context, s store.Store, u universe, alias map[store.SegmentID]store.SegmentID) (everything, error) {
	all := everything{
		Trees: map[store.CodebaseID]tree{}, Contents: map[string]string{},
		Vectors: map[string]map[merkle.Hash]store.Vector{}, Embedded: map[string]map[store.SyntaxKey]bool{},
		Recipes: map[store.Fingerprint]store.Recipe{},
	}
	errs := []error{readShared(ctx, s, u, &all)}
	var err error
	all.Codebases, err = s.Codebases(ctx)
	errs = append(errs, err)
	for _, c := range all.Codebases {
		all.Trees[c.ID], err = readTree(ctx, s, c.ID, u, alias)
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

func readShared(ctx context.Context, s store.Store, u universe, all *everything) error {
	var keys []store.SyntaxKey
	var hashes []merkle.Hash
	var errs []error
	for _, text := range u.texts {
		data, err := s.Content(ctx, hashOf(text))
		if err == nil {
			all.Contents[text] = string(data)
		} else if !errors.Is(err, store.ErrNotFound) {
			errs = append(errs, err)
		}
		keys = append(keys, key(text), store.SyntaxKey{Content: hashOf(text), Version: "other"})
	}
	for _, b := range []byte(u.chunks) {
		hashes = append(hashes, chunkHash(b))
	}
	var err error
	all.Syntaxes, err = s.Syntax(ctx, keys)
	errs = append(errs, err)
	for _, model := range u.models {
		embedding := recipe(model).Embedding.Key()
		all.Vectors[model], err = s.Vectors(ctx, embedding, hashes)
		errs = append(errs, err)
		all.Embedded[model], err = s.HasEmbedded(ctx, embedding, keys)
		errs = append(errs, err)
		r, err := s.Recipe(ctx, recipe(model).Fingerprint())
		if err == nil {
			all.Recipes[r.Fingerprint()] = r
		} else if !errors.Is(err, store.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	all.Outbox, err = s.Outbox(ctx, 1000)
	errs = append(errs, err)
	all.Position, err = s.LogPosition(ctx)
	errs = append(errs, err)
	all.Usage, err = s.Usage(ctx)
	// How rows and bytes are kept is the store's own business.
	all.Usage.StoredBytes, all.Usage.ManifestRows, all.Usage.DirectoryUsed = 0, 0, 0
	return errors.Join(append(errs, err)...)
}

func readTree(ctx context.Context, s store.Store, id store.CodebaseID, u universe, alias map[store.SegmentID]store.SegmentID) (tree, error) {
	r := tree{
		Manifests: map[uint64][]store.FileEntry{}, Upserted: map[uint64][]store.FileEntry{}, Removed: map[uint64][]string{},
		Pending: map[uint64]map[string][]store.PendingFile{}, Views: map[uint64]store.View{}, Segments: map[store.SegmentID]string{},
	}
	var err error
	var errs []error
	r.Snapshots, err = s.Snapshots(ctx, id)
	errs = append(errs, err)
	for _, n := range r.Snapshots {
		errs = append(errs, r.readSnapshot(ctx, s, n, u, alias))
	}
	for entry, err := range s.Stats(ctx, id) {
		r.Stats, errs = append(r.Stats, entry), append(errs, err)
	}
	r.Failures, err = s.Failures(ctx, id)
	return r, errors.Join(append(errs, err)...)
}

func (r *tree) readSnapshot(ctx context.Context, s store.Store, n store.Snapshot, u universe, alias map[store.SegmentID]store.SegmentID) error {
	var err error
	var errs []error
	for f, err := range s.Manifest(ctx, n.Codebase, n.Number) {
		r.Manifests[n.Number], errs = append(r.Manifests[n.Number], f), append(errs, err)
	}
	r.Upserted[n.Number], r.Removed[n.Number], err = s.Delta(ctx, n.Codebase, n.Number)
	errs = append(errs, err)
	r.Pending[n.Number] = map[string][]store.PendingFile{}
	for _, model := range u.models {
		r.Pending[n.Number][model], err = s.Pending(ctx, n.Codebase, n.Number, recipe(model))
		errs = append(errs, err)
	}
	view, err := s.View(ctx, n.Codebase, n.Number)
	if errors.Is(err, store.ErrNoSnapshot) && n.Level == store.LevelOpen {
		return errors.Join(errs...)
	}
	errs = append(errs, err)
	for i, ref := range view.Segments {
		opened, err := s.OpenSegment(ctx, ref.ID)
		if err != nil {
			errs = append(errs, fmt.Errorf("view %d: %w", n.Number, err))
			continue
		}
		if other, ok := alias[ref.ID]; ok {
			view.Segments[i].ID = other
		}
		r.Segments[view.Segments[i].ID] = string(opened.Bytes())
		errs = append(errs, opened.Close())
	}
	r.Views[n.Number] = view
	return errors.Join(errs...)
}
