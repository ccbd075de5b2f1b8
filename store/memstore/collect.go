package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
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

// Collect removes snapshots beyond the retention and what none of the others reaches. A dry
// run does so to a copy.
func (s *Store) Collect(ctx context.Context, r store.Retention) (collected store.Collected, err error) {
	err = s.write(ctx, func() error {
		from := s
		if r.DryRun {
			from = s.clone()
		}
		collected, err = rules.Collect(ctx, rows{from}, r, s.now())
		return err
	})
	return collected, err
}

func (r rows) DropSnapshots(_ context.Context, id store.CodebaseID, numbers []uint64) error {
	for _, number := range numbers {
		delete(r.s.codebases[id].snapshots, number)
	}
	return nil
}

// TrimManifest has nothing to do: every snapshot has a manifest of its own.
func (r rows) TrimManifest(context.Context, store.CodebaseID, []rules.Snapshot) error { return nil }

func (r rows) TrimFailures(_ context.Context, id store.CodebaseID) error {
	c := r.s.codebases[id]
	maps.DeleteFunc(c.failures, func(key failureKey, _ store.Failure) bool {
		for _, n := range c.snapshots {
			if f, ok := n.files[key.path]; ok && f.Content == key.content {
				return false
			}
		}
		return true
	})
	return nil
}

// Sweep removes what no snapshot reaches.
func (r rows) Sweep(_ context.Context, young time.Time, reached rules.Reached) (collected store.Collected, err error) {
	s := r.s
	contents, segments := map[merkle.Hash]bool{}, map[store.SegmentID]bool{}
	for _, c := range s.codebases {
		for _, n := range c.snapshots {
			for _, f := range n.files {
				contents[f.Content] = true
			}
			for _, id := range n.segments {
				segments[id] = true
			}
		}
	}
	collected.Contents = drop(s.contents, func(h merkle.Hash, c content) bool {
		gone := !contents[h] && !c.at.After(young)
		if gone {
			collected.Bytes += int64(len(c.data))
		}
		return gone
	})
	collected.Syntaxes = drop(s.syntaxes, func(k store.SyntaxKey, _ store.Syntax) bool {
		_, held := s.contents[k.Content]
		return !held || !slices.Contains(reached.Versions, k.Version)
	})
	drop(s.embedded, func(k embeddedKey, _ bool) bool {
		_, held := s.syntaxes[k.key]
		return !held || !slices.Contains(reached.Embeddings, k.embedding)
	})
	texts := map[merkle.Hash]bool{}
	for _, syntax := range s.syntaxes {
		for _, chunk := range syntax.Chunks {
			texts[chunk.TextHash] = true
		}
	}
	collected.Vectors = drop(s.vectors, func(k vectorKey, _ store.Vector) bool {
		return !texts[k.text] || !slices.Contains(reached.Embeddings, k.embedding)
	})
	collected.Segments = drop(s.segments, func(id store.SegmentID, g *segment) bool {
		gone := !segments[id] && !g.at.After(young)
		if gone {
			collected.Bytes += g.ref.Bytes
		}
		return gone
	})
	drop(s.recipes, func(fp store.Fingerprint, _ store.Recipe) bool { return !slices.Contains(reached.Recipes, fp) })
	return collected, nil
}

// drop removes what is gone and counts it.
func drop[K comparable, V any](m map[K]V, gone func(K, V) bool) int {
	before := len(m)
	maps.DeleteFunc(m, gone)
	return before - len(m)
}
