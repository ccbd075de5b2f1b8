package search

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// joined is a run of adjacent chunks of a file around its best one.
type joined struct {
	best        int // index of the ranked candidate
	first, last int // chunks in the view
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
		h := joined{best: i, first: c.chunk, last: c.chunk}
		good := func(chunk int) bool {
			other, ok := near[chunk]
			return ok && !taken[chunk] && ranked[other].file == c.file && i < fileTop &&
				ranked[other].score >= joinShare*(c.score-c.boosts.file)
		}
		for h.last-h.first+1 < joinMost && good(h.last+1) {
			h.last++
		}
		for h.last-h.first+1 < joinMost && good(h.first-1) {
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

// chunkHit makes the hit of joined chunks.
func (r *run) chunkHit(h joined, ranked []candidate, text *texter) Hit {
	c := &ranked[h.best]
	p := c.part
	first, last := p.Chunk(h.first-p.chunkBase), p.Chunk(h.last-p.chunkBase)
	hit := r.fileHit(p, c.file-p.fileBase, HitChunk)
	hit.StartLine, hit.EndLine = first.StartLine, last.EndLine
	hit.ID = hitID(hit.Kind, hit.Path, hit.Content, first.Start, last.End)
	hit.Breadcrumb = p.Chunk(c.local).Breadcrumb
	hit.Definition = firstDefinition(p, c.local)
	hit.Score = c.score
	if r.query.Explain {
		hit.Explain = explain(c, h, ranked, text)
	}
	return hit
}

// fileHit returns a hit with what is known of its file.
func (r *run) fileHit(p *part, file int, kind HitKind) Hit {
	info := p.File(file)
	return Hit{Kind: kind, Path: info.Entry.Path, Content: info.Entry.Content, Language: info.Entry.Language,
		Flags: info.Entry.Flags}
}

// firstDefinition returns the definition that begins first in a chunk, or nil.
func firstDefinition(p *part, chunk int) *store.Definition {
	info := p.File(p.ChunkFile(chunk))
	best := -1
	for i := info.FirstDefinition; i < info.FirstDefinition+info.Definitions; i++ {
		if p.DefinitionChunk(i) != chunk {
			continue
		}
		if best < 0 || p.DefinitionStart(i) < p.DefinitionStart(best) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	d := p.Definition(best)
	return &d
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
		Penalties: map[string]float64{}, Joined: h.last - h.first}
	for name, value := range map[string]float64{"stem": c.boosts.stem, "symbol": c.boosts.symbol,
		"path": c.boosts.path, "file": c.boosts.file} {
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
