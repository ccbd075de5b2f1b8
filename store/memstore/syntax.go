package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Syntax returns the syntaxes that exist of the keys asked for.
func (s *Store) Syntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error) {
	found := map[store.SyntaxKey]store.Syntax{}
	err := s.read(ctx, func() error {
		for _, k := range keys {
			if syntax, ok := s.syntaxes[k]; ok {
				found[k] = clone(syntax)
			}
		}
		return nil
	})
	return found, err
}

// HasSyntax returns the keys that exist.
func (s *Store) HasSyntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]bool, error) {
	has := map[store.SyntaxKey]bool{}
	err := s.read(ctx, func() error {
		for _, k := range keys {
			if _, ok := s.syntaxes[k]; ok {
				has[k] = true
			}
		}
		return nil
	})
	return has, err
}

// PutSyntax stores syntaxes; a key that exists keeps what it has.
func (s *Store) PutSyntax(ctx context.Context, records []store.SyntaxRecord) error {
	return s.write(ctx, func() error {
		for _, r := range records {
			if _, ok := s.syntaxes[r.Key]; !ok {
				s.syntaxes[r.Key] = clone(r.Syntax)
			}
		}
		return nil
	})
}

// DropSyntax drops syntaxes with their marks.
func (s *Store) DropSyntax(ctx context.Context, keys []store.SyntaxKey) error {
	return s.write(ctx, func() error {
		for _, k := range keys {
			delete(s.syntaxes, k)
			maps.DeleteFunc(s.embedded, func(e embeddedKey, _ bool) bool { return e.key == k })
		}
		return nil
	})
}

// Vectors returns the vectors that exist.
func (s *Store) Vectors(ctx context.Context, embedding string, texts []merkle.Hash) (map[merkle.Hash]store.Vector, error) {
	found := map[merkle.Hash]store.Vector{}
	err := s.read(ctx, func() error {
		for _, h := range texts {
			if v, ok := s.vectors[vectorKey{embedding, h}]; ok {
				found[h] = store.Vector{Scale: v.Scale, Data: slices.Clone(v.Data)}
			}
		}
		return nil
	})
	return found, err
}

// HasEmbedded returns the keys that PutVectors marked.
func (s *Store) HasEmbedded(ctx context.Context, embedding string, keys []store.SyntaxKey) (map[store.SyntaxKey]bool, error) {
	has := map[store.SyntaxKey]bool{}
	err := s.read(ctx, func() error {
		for _, k := range keys {
			if s.embedded[embeddedKey{embedding, k}] {
				has[k] = true
			}
		}
		return nil
	})
	return has, err
}

// PutVectors stores vectors and marks the keys of done that have all of theirs.
func (s *Store) PutVectors(ctx context.Context, embedding string, vectors []store.VectorRecord, done []store.SyntaxKey) error {
	return s.write(ctx, func() error {
		for _, r := range vectors {
			k := vectorKey{embedding, r.TextHash}
			if _, ok := s.vectors[k]; !ok {
				s.vectors[k] = store.Vector{Scale: r.Vector.Scale, Data: slices.Clone(r.Vector.Data)}
			}
		}
		for _, k := range done {
			if s.complete(embedding, k) {
				s.embedded[embeddedKey{embedding, k}] = true
			}
		}
		return nil
	})
}

func (s *Store) complete(embedding string, key store.SyntaxKey) bool {
	syntax, ok := s.syntaxes[key]
	for _, c := range syntax.Chunks {
		_, has := s.vectors[vectorKey{embedding, c.TextHash}]
		ok = ok && has
	}
	return ok
}

func clone(s store.Syntax) store.Syntax {
	return store.Syntax{
		Cut:         s.Cut,
		Chunks:      slices.Clone(s.Chunks),
		Definitions: slices.Clone(s.Definitions),
		References:  slices.Clone(s.References),
	}
}
