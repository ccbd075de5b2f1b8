package search

import (
	"math/bits"

	"github.com/freshet/freshet/store/lexical"
)

// scratch is what a query needs by chunk and by file, reused by later queries. Between
// queries counts, scores, holds and words are all zero.
type scratch struct {
	counts  []uint32  // by chunk
	touched []uint32  // chunks with a count, part by part
	ends    []int     // where the touched chunks of each part end
	scores  []float64 // BM25 by chunk
	scored  []uint32  // chunks with a score
	holds   []uint64  // by chunk, which words of the query it or its path holds
	words   []uint64  // by file, which words of the query its path holds
	named   []uint32  // files with such words
	near    []uint16  // distances by chunk
}

func (s *scratch) fit(files, chunks int) {
	s.counts, s.scores = grown(s.counts, chunks), grown(s.scores, chunks)
	s.holds = grown(s.holds, chunks)
	s.words, s.near = grown(s.words, files), grown(s.near, chunks)
}

func grown[T any](slice []T, n int) []T {
	if cap(slice) >= n {
		return slice[:n]
	}
	return make([]T, n+n/4)[:n]
}

func (s *scratch) reset() {
	for _, chunk := range s.touched {
		s.counts[chunk] = 0
	}
	for _, chunk := range s.scored {
		s.scores[chunk], s.holds[chunk] = 0, 0
	}
	for _, file := range s.named {
		s.words[file] = 0
	}
	s.touched, s.scored, s.named = s.touched[:0], s.scored[:0], s.named[:0]
}

// texter scores the live chunks of a corpus by words, one word at a time.
type texter struct {
	*scratch
	corpus  *corpus
	words   []string
	forms   [][]string // by word, itself among them
	idf     []float64  // by word
	unknown []string
	allIDF  float64
}

// scoreText fills the scores of every live chunk.
func scoreText(s *scratch, c *corpus, query lexical.Query, inflect bool) *texter {
	t := &texter{scratch: s, corpus: c, words: query.Words[:min(len(query.Words), MaxWords)]}
	average := c.average()
	for i, word := range t.words {
		forms := []string{word}
		if inflect {
			forms = append(forms, lexical.Inflections(word)...)
		}
		t.forms = append(t.forms, forms)
		df := t.count(i)
		weight := idf(c.liveCount, df)
		t.idf = append(t.idf, weight)
		t.allIDF += weight
		if df == 0 {
			t.unknown = append(t.unknown, word)
		}
		t.add(i, weight, average)
	}
	return t
}

// count fills the weighted frequencies of a word in all its forms and returns how many
// live chunks have it.
func (t *texter) count(i int) (df int) {
	t.ends = t.ends[:0]
	for at := range t.corpus.parts {
		for _, form := range t.forms[i] {
			t.countForm(i, &t.corpus.parts[at], form)
		}
		t.ends = append(t.ends, len(t.touched))
	}
	for _, chunk := range t.touched {
		if t.corpus.liveChunks.has(int(chunk)) {
			df++
		}
	}
	return df
}

func (t *texter) countForm(i int, p *part, form string) {
	term := p.Lookup(form)
	base := uint32(p.chunkBase)
	for chunk, n, ok := term.Body.Next(); ok; chunk, n, ok = term.Body.Next() {
		t.touch(base+chunk, n)
	}
	for file, n, ok := term.Path.Next(); ok; file, n, ok = term.Path.Next() {
		at := p.fileBase + int(file)
		if t.scratch.words[at] == 0 {
			t.named = append(t.named, uint32(at))
		}
		t.scratch.words[at] |= 1 << i
		first, end := p.FileChunks(int(file))
		for chunk := first; chunk < end; chunk++ {
			t.touch(base+uint32(chunk), PathWeight*n)
		}
	}
}

func (t *texter) touch(chunk, n uint32) {
	if t.counts[chunk] == 0 {
		t.touched = append(t.touched, chunk)
	}
	t.counts[chunk] += n
}

// add turns the frequencies of a word into scores and clears them.
func (t *texter) add(i int, weight, average float64) {
	start := 0
	for at, end := range t.ends {
		p := &t.corpus.parts[at]
		for _, chunk := range t.touched[start:end] {
			frequency := t.counts[chunk]
			t.counts[chunk] = 0
			if !t.corpus.liveChunks.has(int(chunk)) {
				continue
			}
			if t.scores[chunk] == 0 {
				t.scored = append(t.scored, chunk)
			}
			t.holds[chunk] |= 1 << i
			t.scores[chunk] += bm25(weight, frequency, p.lengths[int(chunk)-p.chunkBase], average)
		}
		start = end
	}
	t.touched = t.touched[:0]
}

// pathShare is the share of the query's words, by idf, that a file's path holds.
func (t *texter) pathShare(file int) float64 {
	held := 0.0
	for mask := t.scratch.words[file]; mask != 0; mask &= mask - 1 {
		held += t.idf[bits.TrailingZeros64(mask)]
	}
	if t.allIDF == 0 {
		return 0
	}
	return held / t.allIDF
}

// explain returns the score of each word in a chunk.
func (t *texter) explain(chunk int) map[string]float64 {
	out := map[string]float64{}
	average, p := t.corpus.average(), t.corpus.chunkPart(chunk)
	for i, word := range t.words {
		t.count(i)
		if n := t.counts[chunk]; n > 0 {
			out[word] = bm25(t.idf[i], n, p.lengths[chunk-p.chunkBase], average)
		}
		for _, touched := range t.touched {
			t.counts[touched] = 0
		}
		t.touched = t.touched[:0]
	}
	return out
}
