// Package reference is the slow, obvious twin of the search engine: it works from a plain
// list of files with maps and sorts, and defines what is right. It knows no segments. The
// engine must give the same hits in the same order with the same scores, to the bit.
package reference

import (
	"sort"

	"github.com/freshet/freshet/store/lexical"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
)

// Corpus is the live files of a snapshot.
type Corpus struct {
	Files []segment.File
	// Vector is the query's vector, nil when it could not be embedded.
	Vector []float32
	// Oversample is how many chunks text and vectors propose each.
	Oversample int
}

// chunk is one chunk of the corpus with everything that is asked of it.
type chunk struct {
	file    *segment.File
	index   int // in its file
	text    string
	counts  map[string]int // weighted
	length  int
	row     []int8 // nil without a vector
	scale   float32
	bm25    float64
	cosine  float64
	base    float64
	score   float64
	bonus   float64
	defines float64 // the share of the boost for definitions
}

// Search answers a query, which must be a good one with its limit set.
func Search(c Corpus, q search.Query) search.Result {
	files := append([]segment.File(nil), c.Files...)
	sort.Slice(files, func(i, j int) bool { return files[i].Entry.Path < files[j].Entry.Path })
	c.Files = files
	all := c.chunks()
	result := search.Result{Considered: search.Considered{Files: len(files), Chunks: len(all), Removed: removed(files, q)}}
	switch q.Mode {
	case search.ModeSymbol:
		return paged(result, q, true, symbols(files, q))
	case search.ModePath:
		return paged(result, q, true, paths(files, q))
	case search.ModeExact, search.ModeRegex:
		return paged(result, q, true, lines(files, q))
	}
	return c.ranked(result, q, all)
}

func (c Corpus) chunks() (all []*chunk) {
	for i := range c.Files {
		f := &c.Files[i]
		for j, span := range f.Syntax.Chunks {
			ch := &chunk{file: f, index: j, text: span.Breadcrumb + "\n" + string(f.Content[span.Start:span.End]),
				counts: map[string]int{}}
			for _, word := range lexical.Words(ch.text) {
				ch.counts[word]++
				ch.length++
			}
			for _, word := range lexical.Words(f.Entry.Path) {
				ch.counts[word] += search.PathWeight
				ch.length += search.PathWeight
			}
			ch.row, ch.scale = combine(f.Vectors[span.TextHash], f.PathVector)
			all = append(all, ch)
		}
	}
	return all
}
