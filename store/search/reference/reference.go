// Package reference is the slow, obvious twin of the search engine: it works from a plain
// list of files with maps and sorts, and defines what is right. It knows no segments. The
// engine must give the same hits in the same order with the same scores, to the bit.
package reference

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sort"

	"github.com/freshet/freshet/store"
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

func chunkOf(f *segment.File, d store.Definition) int {
	at := 0
	for i, span := range f.Syntax.Chunks {
		if span.Start <= d.Start {
			at = i
		}
	}
	return at
}

// paged cuts a page out of all hits.
func paged(result search.Result, q search.Query, exact bool, hits []search.Hit) search.Result {
	result.Total, result.TotalExact = len(hits), exact
	from := min(q.Offset, len(hits))
	result.Hits = hits[from:min(from+q.Limit, len(hits))]
	return result
}

func fileHit(f *segment.File, kind search.HitKind, start, end uint32) search.Hit {
	e := f.Entry
	sum := sha256.New()
	sum.Write([]byte(string(kind) + "\x00" + e.Path + "\x00"))
	sum.Write(e.Content[:])
	sum.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, start), end))
	return search.Hit{ID: hex.EncodeToString(sum.Sum(nil)[:8]), Kind: kind, Path: e.Path, Content: e.Content,
		Language: e.Language, Flags: e.Flags}
}

// firstDefinition is the one that begins first in a chunk.
func firstDefinition(f *segment.File, chunk int) *store.Definition {
	var best *store.Definition
	for i := range f.Syntax.Definitions {
		d := &f.Syntax.Definitions[i]
		if chunkOf(f, *d) == chunk && (best == nil || d.Start < best.Start) {
			best = d
		}
	}
	return best
}
