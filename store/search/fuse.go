package search

import (
	"bytes"
	"cmp"
	"context"
	"math/bits"
	"slices"
)

// candidate is a chunk among the best by text or by vector, with its signals.
type candidate struct {
	chunk, file  int // numbered in the view
	part         *part
	local        int // ordinal in the segment
	bm25, cosine float64
	hasVector    bool
	defines      definedness
	base, score  float64
	boosts       boosts
}

// boosts are the boosts of a candidate, which are added to its base score, and its penalties,
// by which the score is multiplied.
type boosts struct {
	stem, symbol, path, file float64
	depth                    float64 // not above 0
	test, aside              float64
}

// chunks answers the hybrid, semantic and text modes.
func (r *run) chunks(ctx context.Context) error {
	vector, err := r.embed(ctx)
	if err != nil {
		return err
	}
	r.result.VectorsUsed = vector != nil
	var text *texter
	if r.query.Mode != ModeSemantic || vector == nil {
		text = scoreText(r.scratch, r.corpus, r.words, r.ranking.Inflect)
		r.result.Considered.UnknownTerms = text.unknown
	}
	candidates, complete := r.propose(ctx, text, vector)
	r.score(candidates, text, vector)
	rank(candidates)
	best := candidates[:min(fileTop, len(candidates))]
	addFileBoost(best, r.ranking.File)
	rank(best) // which got more than they had, so that the others stay behind them
	r.judge(candidates, text, vector)
	if !complete {
		r.result.NotSearched = &NotSearched{Chunks: r.filtered.chunks.count() - len(candidates)}
	}
	hits := r.join(candidates)
	if err := r.rerank(ctx, hits, candidates); err != nil {
		return err
	}
	return page(r, hits, complete, func(h joined) (Hit, error) { return r.chunkHit(ctx, h, candidates, text) })
}

// judge warns when even the best candidate has a low similarity to the query, so that the
// codebase probably has nothing on it.
func (r *run) judge(ranked []candidate, text *texter, vector *vectorQuery) {
	if len(ranked) == 0 || text == nil || len(text.words) == 0 {
		return
	}
	best := &ranked[0]
	held := bits.OnesCount64(text.holds[best.chunk])
	if 2*held < len(text.words) && (vector == nil || best.cosine < weakCosine) {
		r.warn(WarnWeak, "the best hit holds %d of the %d words asked for and resembles the query little: it may not be here", held, len(text.words))
	}
}

// embed returns the query's vector, or nil when words alone must do.
func (r *run) embed(ctx context.Context) (*vectorQuery, error) {
	if r.query.Mode == ModeText || !r.corpus.vectors {
		if r.query.Mode == ModeSemantic && r.corpus.liveCount > 0 {
			r.warn("no_vectors", "no chunk has a vector yet; ranked by words")
		}
		return nil, nil
	}
	if r.embedder == nil {
		r.warn("embedder_unavailable", "no embedder; ranked by words")
		return nil, nil
	}
	values, err := r.embedder.EmbedQuery(ctx, r.query.Text)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r.warn("embedder_unavailable", "the query could not be embedded (%v); ranked by words", err)
		return nil, nil
	}
	vector := newVectorQuery(values)
	if vector == nil {
		r.warn("query_without_vector", "the embedder knows no word of the query; ranked by words")
	}
	return vector, nil
}

// propose returns the candidates with their signals: the union of the best chunks by text, the
// best by vector, and those that define a symbol of the query. It reports whether these are all
// chunks to rank.
func (r *run) propose(ctx context.Context, text *texter, vector *vectorQuery) (candidates []candidate, complete bool) {
	c, pass, most := r.corpus, r.filtered.chunks, r.options.Oversample
	total := pass.count()
	var chunks []uint32
	if vector != nil {
		chunks = r.nearest(ctx, vector, total)
		complete = len(chunks) == total
	}
	for _, chunk := range chunks {
		r.scratch.counts[chunk] = 1
	}
	add := func(chunk uint32, mark uint32) {
		if r.scratch.counts[chunk] == 0 {
			chunks = append(chunks, chunk)
		}
		r.scratch.counts[chunk] |= mark
	}
	if text != nil {
		matched := passing(r.scratch.scored, pass)
		best := top(matched, r.scratch.scores, most)
		complete = complete || vector == nil && len(best) == len(matched)
		for _, chunk := range best {
			add(chunk, 1)
		}
		for chunk, how := range r.defining() {
			add(chunk, uint32(how)<<1)
		}
	}
	candidates = make([]candidate, len(chunks))
	for i, chunk := range chunks {
		p := c.chunkPart(int(chunk))
		local := int(chunk) - p.chunkBase
		candidates[i] = candidate{chunk: int(chunk), part: p, local: local, file: p.fileBase + p.ChunkFile(local),
			bm25: r.scratch.scores[chunk], defines: definedness(r.scratch.counts[chunk] >> 1)}
		r.scratch.counts[chunk] = 0
		if vector != nil {
			candidates[i].cosine, candidates[i].hasVector = vector.cosine(p, local)
		}
	}
	return candidates, complete || len(candidates) == total
}

func passing(chunks []uint32, pass bitmap) []uint32 {
	out := make([]uint32, 0, len(chunks))
	for _, chunk := range chunks {
		if pass.has(int(chunk)) {
			out = append(out, chunk)
		}
	}
	return out
}

// top returns the chunks that score at least as high as the most-th best. It reorders
// chunks.
func top(chunks []uint32, scores []float64, most int) []uint32 {
	if len(chunks) <= most {
		return chunks
	}
	limit := nth(chunks, scores, most)
	out := chunks[:0]
	for _, chunk := range chunks {
		if scores[chunk] >= limit {
			out = append(out, chunk)
		}
	}
	return out
}

// nth returns the n-th largest score by quickselect, n counting from 1.
func nth(chunks []uint32, scores []float64, n int) float64 {
	values := make([]float64, len(chunks))
	for i, chunk := range chunks {
		values[i] = scores[chunk]
	}
	low, high, k := 0, len(values)-1, n-1
	for low < high {
		pivot := median(values[low], values[(low+high)/2], values[high])
		i, j := low, high
		for i <= j {
			for values[i] > pivot {
				i++
			}
			for values[j] < pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	return values[k]
}

func median(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }

// score gives every candidate its base, its boosts and its score.
func (r *run) score(candidates []candidate, text *texter, vector *vectorQuery) {
	bestText, bestCosine := 0.0, 0.0
	for i := range candidates {
		bestText, bestCosine = max(bestText, candidates[i].bm25), max(bestCosine, candidates[i].cosine)
	}
	best := 0.0
	for i := range candidates {
		c := &candidates[i]
		c.base = r.ranking.base(c, bestText, bestCosine, text != nil, vector != nil)
		best = max(best, c.base)
	}
	b := r.booster(text)
	for i := range candidates {
		c := &candidates[i]
		c.boosts = b.of(c, best)
		added := c.base + c.boosts.stem + c.boosts.symbol + c.boosts.path + c.boosts.depth
		c.score = float64(added * float64(c.boosts.test*c.boosts.aside))
	}
}

// base is the weighted sum of the two scores relative to the best ones. A chunk without a
// vector is judged by its words alone, so that a file that waits for its vectors is not
// ranked below all others.
func (w Ranking) base(c *candidate, bestText, bestCosine float64, text, vector bool) float64 {
	words, nearness := 0.0, 0.0
	if bestText > 0 {
		words = c.bm25 / bestText
	}
	if bestCosine > 0 && c.cosine > 0 {
		nearness = c.cosine / bestCosine
	}
	switch {
	case !vector || text && !c.hasVector:
		return words
	case !text:
		return nearness
	}
	return float64(w.Vector*nearness) + float64((1-w.Vector)*words)
}

// rank sorts candidates by score, path, line and place in the file.
func rank(candidates []candidate) {
	type key struct {
		score float64
		at    int
	}
	keys := make([]key, len(candidates)) // a candidate is large to move about
	for i := range candidates {
		keys[i] = key{candidates[i].score, i}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return comparePlace(&candidates[a.at], &candidates[b.at])
	})
	sorted := make([]candidate, len(candidates))
	for i, k := range keys {
		sorted[i] = candidates[k.at]
	}
	copy(candidates, sorted)
}

func comparePlace(a, b *candidate) int {
	if a.file != b.file {
		pathA := a.part.Path(a.file - a.part.fileBase)
		if order := bytes.Compare(pathA, b.part.Path(b.file-b.part.fileBase)); order != 0 {
			return order
		}
	}
	return cmp.Compare(a.chunk, b.chunk)
}

// addFileBoost adds to the best chunk of each file for the file's next ones.
func addFileBoost(ranked []candidate, weight float64) {
	type file struct {
		best, seen int
	}
	files := map[int]*file{}
	scores := make([]float64, len(ranked))
	for i := range ranked {
		c := &ranked[i]
		scores[i] = c.score
		f := files[c.file]
		if f == nil {
			files[c.file] = &file{best: i, seen: 1}
			continue
		}
		if f.seen <= fileNext {
			f.seen++
			ranked[f.best].boosts.file += float64(weight*scores[i]) / float64(f.seen)
		}
	}
	for _, f := range files {
		ranked[f.best].score += ranked[f.best].boosts.file
	}
}
