package memstore

import (
	"context"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Forget drops what can be made again from the files of a codebase. Contents in memory are
// never damaged.
func (s *Store) Forget(ctx context.Context, id store.CodebaseID) error {
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
		for key, syntax := range s.syntaxes {
			if !contents[key.Content] {
				continue
			}
			for _, chunk := range syntax.Chunks {
				for v := range s.vectors {
					if v.text == chunk.TextHash {
						delete(s.vectors, v)
					}
				}
			}
			for e := range s.embedded {
				if e.key == key {
					delete(s.embedded, e)
				}
			}
			delete(s.syntaxes, key)
		}
		clear(c.stats)
		return nil
	})
}
