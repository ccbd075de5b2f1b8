package pgstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// fixedEmbedder gives every query one vector.
type fixedEmbedder []float32

// Recipe is that of nobody.
func (f fixedEmbedder) Recipe() store.EmbeddingRecipe {
	return store.EmbeddingRecipe{Dimension: len(f)}
}

// EmbedQuery returns it.
func (f fixedEmbedder) EmbedQuery(context.Context, string) ([]float32, error) { return f, nil }

// asked counts how often a store is asked for candidates.
type asked struct {
	*Store
	times atomic.Int64
}

func (a *asked) Candidates(ctx context.Context, view store.View, query []float32, most int) ([]store.ChunkRef, bool, error) {
	a.times.Add(1)
	return a.Store.Candidates(ctx, view, query, most)
}

// recallAt10 is the least share of the ten best hits of an engine that scores every vector
// that one with candidates has to have among its ten best.
const recallAt10 = 0.98

// TestRankingOverCandidates compares the final ranking of an engine that asks the server
// for candidates with that of one that scores every vector: without a filter, and with
// filters down to one file in a thousand. Filters that keep few ask nobody, and so give the
// very same hits.
func TestRankingOverCandidates(t *testing.T) {
	t.Parallel()
	const queries = 15
	s := openTenant(t, Options{CandidatesFrom: 100})
	view := nearTree(t, s, 10, 300, 64)
	if err := s.IndexCandidates(t.Context(), "near", 1); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(9, 9))
	for _, filter := range []struct {
		name  string
		paths []string
		files int
		asks  bool
	}{
		{"all", nil, 3000, true},
		{"a half", []string{"d[0-4]/**"}, 1500, true},
		{"a tenth", []string{"d7/**"}, 300, false},
		{"a hundredth", []string{"d5/f1[0-2]?.txt"}, 30, false},
		{"a thousandth", []string{"d7/f1[78].txt", "d3/f5.txt"}, 3, false},
	} {
		found, wanted, store := 0, 0, &asked{Store: s}
		for range queries {
			embedder := fixedEmbedder(likeOne(t, s, view, random))
			ask := func(o search.Options) search.Result {
				e := search.New(s, embedder, o)
				r, err := e.Search(t.Context(), view, search.Query{Text: "x", Mode: search.ModeSemantic, Paths: filter.paths, Limit: 10})
				if err = errors.Join(err, e.Close()); err != nil || len(r.Warnings) > 0 {
					t.Fatal(r.Warnings, err)
				}
				return r
			}
			exact, near := ask(search.Options{Oversample: 10_000}), ask(search.Options{Oversample: 400, Candidates: store, CandidatesFrom: 1})
			if kept := exact.Considered.Files - exact.Considered.Removed["paths"]; kept != filter.files {
				t.Fatalf("%s: %d files pass, want %d", filter.name, kept, filter.files)
			}
			for _, hit := range exact.Hits {
				wanted++
				if slices.ContainsFunc(near.Hits, func(h search.Hit) bool { return h.ID == hit.ID }) {
					found++
				}
			}
		}
		t.Logf("%s: %d of %d", filter.name, found, wanted)
		if wanted < queries*min(10, filter.files) || float64(found) < recallAt10*float64(wanted) || !filter.asks && found < wanted {
			t.Errorf("%s: %d of the %d best hits", filter.name, found, wanted)
		}
		if got := store.times.Load(); filter.asks != (got > 0) {
			t.Errorf("%s: asked %d times", filter.name, got)
		}
	}
}
