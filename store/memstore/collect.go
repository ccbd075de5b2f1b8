package memstore

import (
	"context"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Usage counts what the store holds. Nothing is compressed and there is no directory.
func (s *Store) Usage(ctx context.Context) (u store.Usage, err error) {
	err = s.read(ctx, func() error {
		u.Contents, u.Syntaxes, u.Vectors, u.Segments = len(s.contents), len(s.syntaxes), len(s.vectors), len(s.segments)
		for _, c := range s.contents {
			u.ContentBytes += int64(len(c.data))
		}
		u.StoredBytes = u.ContentBytes
		for _, g := range s.segments {
			u.SegmentBytes += g.ref.Bytes
		}
		for _, c := range s.codebases {
			for _, n := range c.snapshots {
				u.ManifestRows += len(n.files)
			}
		}
		return nil
	})
	return u, err
}

// Collect removes snapshots beyond the retention and what none of the others reaches.
func (s *Store) Collect(ctx context.Context, r store.Retention) (collected store.Collected, err error) {
	err = s.write(ctx, func() error {
		reached := newReach()
		for _, c := range s.codebases {
			retained := r.Retained(c.Codebase, c.newestFirst())
			for number, n := range c.snapshots {
				if retained[number] {
					s.mark(reached, n)
					continue
				}
				collected.Snapshots++
				if !r.DryRun {
					delete(c.snapshots, number)
				}
			}
			if !r.DryRun {
				c.dropFailures()
			}
		}
		s.sweep(reached, &collected, r.DryRun)
		return nil
	})
	return collected, err
}

// dropFailures removes failures of files that no snapshot has.
func (c *codebase) dropFailures() {
	for key := range c.failures {
		named := false
		for _, n := range c.snapshots {
			f, ok := n.files[key.path]
			named = named || (ok && f.Content == key.content)
		}
		if !named {
			delete(c.failures, key)
		}
	}
}

// reach is what the retained snapshots reach.
type reach struct {
	contents   map[merkle.Hash]bool
	versions   map[string]bool
	embeddings map[string]bool
	recipes    map[store.Fingerprint]bool
	segments   map[store.SegmentID]bool
}

func newReach() *reach {
	return &reach{
		contents:   map[merkle.Hash]bool{},
		versions:   map[string]bool{},
		embeddings: map[string]bool{},
		recipes:    map[store.Fingerprint]bool{},
		segments:   map[store.SegmentID]bool{},
	}
}

func (s *Store) mark(reached *reach, n *snapshot) {
	for _, f := range n.files {
		reached.contents[f.Content] = true
	}
	for _, id := range n.segments {
		reached.segments[id] = true
	}
	recipe := s.recipes[n.Fingerprint]
	reached.recipes[n.Fingerprint] = true
	reached.embeddings[recipe.Embedding.Key()] = true
	reached.versions[recipe.SyntaxVersion("")] = true
	for language := range recipe.Grammars {
		reached.versions[recipe.SyntaxVersion(language)] = true
	}
}

func (s *Store) sweep(reached *reach, collected *store.Collected, dry bool) {
	young := s.now().Add(-store.CollectGrace)
	texts := map[merkle.Hash]bool{}
	keptContent := func(h merkle.Hash) bool {
		c, ok := s.contents[h]
		return reached.contents[h] || (ok && c.at.After(young))
	}
	keptSyntax := func(k store.SyntaxKey) bool { return keptContent(k.Content) && reached.versions[k.Version] }
	for k, syntax := range s.syntaxes {
		if keptSyntax(k) {
			for _, chunk := range syntax.Chunks {
				texts[chunk.TextHash] = true
			}
		}
	}
	collected.Syntaxes = sweep(s.syntaxes, dry, func(k store.SyntaxKey, _ store.Syntax) bool { return keptSyntax(k) })
	collected.Vectors = sweep(s.vectors, dry, func(k vectorKey, _ store.Vector) bool {
		return texts[k.text] && reached.embeddings[k.embedding]
	})
	sweep(s.embedded, dry, func(k embeddedKey, _ bool) bool {
		return keptSyntax(k.key) && reached.embeddings[k.embedding]
	})
	sweep(s.recipes, dry, func(fp store.Fingerprint, _ store.Recipe) bool { return reached.recipes[fp] })
	collected.Segments = sweep(s.segments, dry, func(id store.SegmentID, g *segment) bool {
		kept := reached.segments[id] || g.at.After(young)
		if !kept {
			collected.Bytes += g.ref.Bytes
		}
		return kept
	})
	collected.Contents = sweep(s.contents, dry, func(h merkle.Hash, c content) bool {
		kept := keptContent(h)
		if !kept {
			collected.Bytes += int64(len(c.data))
		}
		return kept
	})
}

// sweep removes what is not kept, unless dry, and counts it.
func sweep[K comparable, V any](m map[K]V, dry bool, kept func(K, V) bool) int {
	n := 0
	for k, v := range m {
		if kept(k, v) {
			continue
		}
		n++
		if !dry {
			delete(m, k)
		}
	}
	return n
}
