package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Forget drops what can be made again from the files of a codebase. Contents in memory are
// never damaged.
func (s *Store) Forget(ctx context.Context, id store.CodebaseID, vectors bool) error {
	return s.write(ctx, func() error {
		c, err := s.codebase(id)
		if err != nil {
			return err
		}
		contents := map[merkle.Hash]bool{}
		for _, n := range c.snapshots {
			for _, f := range n.files {
				contents[f.Content] = true
			}
		}
		texts := map[merkle.Hash]bool{}
		for key, syntax := range s.syntaxes {
			if vectors && contents[key.Content] {
				for _, chunk := range syntax.Chunks {
					texts[chunk.TextHash] = true
				}
			}
		}
		maps.DeleteFunc(s.vectors, func(k vectorKey, _ store.Vector) bool { return texts[k.text] })
		maps.DeleteFunc(s.embedded, func(k embeddedKey, _ bool) bool {
			named := func(chunk store.Chunk) bool { return texts[chunk.TextHash] }
			return contents[k.key.Content] || slices.ContainsFunc(s.syntaxes[k.key].Chunks, named)
		})
		maps.DeleteFunc(s.syntaxes, func(k store.SyntaxKey, _ store.Syntax) bool { return contents[k.Content] })
		clear(c.stats)
		return nil
	})
}

// Discard does nothing: rows in memory are never damaged.
func (s *Store) Discard(ctx context.Context, _ store.Damage) error {
	return s.write(ctx, func() error { return nil })
}
