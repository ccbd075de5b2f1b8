package search

import (
	"context"

	"github.com/freshet/freshet/store"
)

// Proposer proposes chunks to an engine that would otherwise look at the vector of every
// one. What it proposes is scored as everything else is, so that it decides which chunks
// are ranked and never how.
//
// It is not asked for chunks by their words: postings are mapped, a query reads those of its
// words alone, and the whole answer from them is ready while an index of the server (GIN over
// the same tokens) still collects what has any of the words. For three words in 200,000
// chunks BenchmarkWords of package pgstore has 3.7 ms (p95 8.8) against 203 (300).
type Proposer interface {
	// Nearest returns at most so many chunks of the view's segments, dead ones included,
	// whose vectors are nearest to the query's; fewer when it would take too long. ok is
	// false when it does not know the view.
	Nearest(ctx context.Context, view store.View, query []float32, most int) (near []store.ChunkRef, ok bool, err error)
}

// proposeFrom is the default of Options.ProposeFrom. Up to there comparing the signs of all
// vectors is faster than asking, 64 MB that readers map: a million take 5 ms, and a server
// needs 16 for candidates in a hundred thousand.
const proposeFrom = 2_000_000

const (
	// rareFilter: a filter that keeps less than one chunk in so many is answered by looking at
	// what it keeps.
	rareFilter = 2
	// fewLeft: proposals are too few when less than one in so many of those that were wanted
	// is left of them.
	fewLeft = 4
)

// nearest returns the chunks that pass and are nearest to a query: those that the proposer
// names, where there is one and it knows enough of them, and otherwise all of them looked
// at.
func (r *run) nearest(ctx context.Context, vector *vectorQuery, total int) []uint32 {
	c, pass, most := r.corpus, r.filtered.chunks, r.options.Oversample
	if r.options.Proposer != nil && c.liveCount >= r.options.ProposeFrom && total*rareFilter >= c.liveCount {
		near, ok, err := r.options.Proposer.Nearest(ctx, r.view, vector.values, most*c.liveCount/total)
		if err != nil {
			r.warn("candidates_unavailable", "the store proposed no candidates (%v); all chunks were compared", err)
		}
		if chunks := r.proposed(near); ok && len(chunks) >= min(most, total)/fewLeft {
			return chunks
		}
	}
	return vector.nearest(r.scratch, c, pass, most)
}

// proposed numbers in the view those proposals that pass.
func (r *run) proposed(near []store.ChunkRef) []uint32 {
	parts := make(map[store.SegmentID]*part, len(r.view.Segments))
	for i, ref := range r.view.Segments {
		parts[ref.ID] = &r.corpus.parts[i]
	}
	chunks := make([]uint32, 0, len(near))
	for _, ref := range near {
		p, ok := parts[ref.Segment]
		if ok && int(ref.Chunk) < p.Chunks() && r.filtered.chunks.has(p.chunkBase+int(ref.Chunk)) {
			chunks = append(chunks, uint32(p.chunkBase)+ref.Chunk)
		}
	}
	return chunks
}
