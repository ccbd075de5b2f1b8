package search

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/freshet/freshet/sync/merkle"
)

// joined is a run of adjacent chunks of a file around its best one.
type joined struct {
	best        int // index of the ranked candidate
	first, last int // chunks in the view
	score       float64
	rerank      *float64 // by the reranker, nil when it had no say
	rank        int      // before it, from 1
}

// join makes the hits of ranked candidates: each one that no better hit has taken, with
// the good ones next to it; one hit for each file unless all chunks are wanted.
func (r *run) join(ranked []candidate) []joined {
	near := map[int]int{} // candidate by chunk, among the top
	for i := range ranked[:min(fileTop, len(ranked))] {
		near[ranked[i].chunk] = i
	}
	var hits []joined
	taken, files := map[int]bool{}, map[int]bool{}
	for i := range ranked {
		c := &ranked[i]
		if taken[c.chunk] || !r.query.AllChunks && files[c.file] {
			continue
		}
		h := joined{best: i, first: c.chunk, last: c.chunk, score: c.score}
		good := func(chunk int) bool {
			other, ok := near[chunk]
			return ok && !taken[chunk] && ranked[other].file == c.file && i < fileTop &&
				ranked[other].score >= joinShare*(c.score-c.boosts.file)
		}
		for h.last-h.first+1 < joinMost && good(h.last+1) && fits(c.part, h.first, h.last+1) {
			h.last++
		}
		for h.last-h.first+1 < joinMost && good(h.first-1) && fits(c.part, h.first-1, h.last) {
			h.first--
		}
		for chunk := h.first; chunk <= h.last; chunk++ {
			taken[chunk] = true
		}
		files[c.file] = true
		hits = append(hits, h)
	}
	return hits
}

// fits reports whether chunks of the view are few enough lines to be one hit.
func fits(p *part, first, last int) bool {
	start, _ := p.ChunkLines(first - p.chunkBase)
	_, end := p.ChunkLines(last - p.chunkBase)
	return end < start+joinLines
}

// chunkHit makes the hit of joined chunks.
func (r *run) chunkHit(ctx context.Context, h joined, ranked []candidate, text *texter) (Hit, error) {
	c := &ranked[h.best]
	p := c.part
	first, last := p.Chunk(h.first-p.chunkBase), p.Chunk(h.last-p.chunkBase)
	hit := r.fileHit(p, c.file-p.fileBase, HitChunk)
	hit.StartLine, hit.EndLine = first.StartLine, last.EndLine
	hit.ID = hitID(hit.Kind, hit.Path, hit.Content, first.Start, last.End)
	hit.Breadcrumb = p.Chunk(c.local).Breadcrumb
	hit.Score = h.score
	if r.query.Explain {
		hit.Explain = explain(c, h, ranked, text)
	}
	hit.BestStart, hit.BestEnd = p.ChunkLines(c.local)
	if named := r.named(p, h, c.local); named >= 0 {
		d, err := r.definition(ctx, p, named)
		hit.Definition, hit.Located = &d, true
		return hit, err
	}
	var err error
	hit.Definition, err = r.firstDefinition(ctx, p, c.local)
	return hit, err
}

// fileHit returns a hit with what is known of its file.
func (r *run) fileHit(p *part, file int, kind HitKind) Hit {
	info := p.File(file)
	return Hit{Kind: kind, Path: info.Entry.Path, Content: info.Entry.Content, Language: info.Entry.Language,
		Flags: info.Entry.Flags}
}

// hitID digests what makes a hit the same hit in an equal snapshot.
func hitID(kind HitKind, path string, content merkle.Hash, start, end uint32) string {
	data := append([]byte(kind), 0)
	data = append(append(data, path...), 0)
	data = append(data, content[:]...)
	data = binary.BigEndian.AppendUint32(data, start)
	data = binary.BigEndian.AppendUint32(data, end)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// explain writes down the signals of a candidate.
func explain(c *candidate, h joined, ranked []candidate, text *texter) *Explain {
	e := &Explain{BM25: c.bm25, Cosine: c.cosine, Base: c.base, Boosts: map[string]float64{},
		Penalties: map[string]float64{}, Joined: h.last - h.first, Rerank: h.rerank, RankBefore: h.rank}
	for name, value := range map[string]float64{"stem": c.boosts.stem, "symbol": c.boosts.symbol,
		"path": c.boosts.path, "file": c.boosts.file, "depth": c.boosts.depth} {
		if value != 0 {
			e.Boosts[name] = value
		}
	}
	for name, value := range map[string]float64{"test": c.boosts.test, "aside": c.boosts.aside} {
		if value != 1 {
			e.Penalties[name] = value
		}
	}
	if text != nil {
		e.Terms = text.explain(c.chunk)
		if c.bm25 > 0 {
			e.RankText = 1 + countBetter(ranked, func(o candidate) bool { return o.bm25 > c.bm25 })
		}
	}
	if c.hasVector {
		e.RankVector = 1 + countBetter(ranked, func(o candidate) bool { return o.hasVector && o.cosine > c.cosine })
	}
	return e
}

func countBetter(ranked []candidate, better func(candidate) bool) (n int) {
	for ; len(ranked) > 0; ranked = ranked[1:] {
		i := slices.IndexFunc(ranked, better)
		if i < 0 {
			break
		}
		n, ranked = n+1, ranked[i:]
	}
	return n
}
