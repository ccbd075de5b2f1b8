package search

import (
	"context"

	"github.com/freshet/freshet/store"
)

// CandidateIndex is an approximate index of vectors: it returns candidates, where the engine
// would otherwise compare the vectors of all chunks. The engine scores candidates like other
// chunks, so that the index decides which chunks are ranked and never how.
//
// There are no candidates by words: a query reads the mapped postings of its words alone, and
// the whole answer from them is ready while an index of the server (GIN over the same tokens)
// still collects the chunks with any of the words. For three words in 200,000 chunks
// BenchmarkWords of package pgstore has 3.7 ms (p95 8.8) against 203 (300).
type CandidateIndex interface {
	// Candidates returns at most `most` chunks of the view's segments, dead ones included,
	// whose vectors are nearest to the query's; fewer when it would take too long. ok is
	// false when the view is not indexed.
	Candidates(ctx context.Context, view store.View, query []float32, most int) (near []store.ChunkRef, ok bool, err error)
}

// candidatesFrom is the default of Options.CandidatesFrom. Up to there comparing the signs of all
// vectors is faster than asking, 64 MB that readers map: a million take 5 ms, and a server
// needs 16 for candidates in a hundred thousand.
const candidatesFrom = 2_000_000

const (
	// rareFilter: a filter that keeps less than one chunk in so many is answered by looking at
	// what it keeps.
	rareFilter = 2
	// fewLeft: candidates are too few when less than one in so many of the wanted number pass
	// the filters.
	fewLeft = 4
)

// nearest returns the chunks that pass the filters and are nearest to a query: the candidates
// of the index, where there is one and they are enough, otherwise by a scan of all vectors.
func (r *run) nearest(ctx context.Context, vector *vectorQuery, total int) []uint32 {
	c, pass, most := r.corpus, r.filtered.chunks, r.options.Oversample
	if r.options.Candidates != nil && c.liveCount >= r.options.CandidatesFrom && total*rareFilter >= c.liveCount {
		near, ok, err := r.options.Candidates.Candidates(ctx, r.view, vector.values, most*c.liveCount/total)
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
