package search

import "math"

// The weights of BM25: words of a path count several times, in frequencies and in lengths
// alike.
const (
	PathWeight = 3
	saturation = 1.2  // k1
	lengthBias = 0.75 // b
)

// Ranking is the weights by which signals become a score. Boosts are shares of the largest
// base of the query; penalties are factors. A boost of 0 and a penalty of 1 switch a signal
// off.
type Ranking struct {
	// Vector is the share of the vectors in the base; the rest is that of the words.
	Vector float64
	// Inflect counts a word of the query in all its forms (lexical.Inflections).
	Inflect bool
	// Stem is multiplied by the share of the file's stem that the query names (of its folder's
	// for a file that stands for it: index, mod, __init__), Path by the
	// share of the query, by idf, that the path holds.
	Stem, Path float64
	// Symbol is for a chunk that defines a symbol which the query names: half of it when
	// the name differs in its case, half as much again for a type, and twice of it when the
	// query is nothing but a name.
	Symbol float64
	// Depth is taken off a file that lies deep in folders, a sixth of it for each: what is
	// central stands near the root.
	Depth float64
	// File is multiplied by the sum of score/rank of the next good chunks of the file.
	File float64
	// Test is for test files, Aside for documents, examples, legacy, vendored and generated
	// files, data, and declarations without bodies, each unless the query asks for them.
	Test, Aside float64
}

// DefaultRanking is what an engine uses. The weights were tuned on the development half of
// the evaluation, and kept round.
func DefaultRanking() Ranking {
	return Ranking{
		Vector: 0.6, Inflect: true,
		Stem: 0.15, Path: 0.2, Symbol: 0.3, Depth: 0.15, File: 0.4,
		Test: 0.5, Aside: 0.6,
	}
}

// The sum over the next chunks of a file.
const (
	fileNext = 4  // how many of them
	fileTop  = 60 // among so many of all chunks
)

// The shares of Ranking.Symbol.
const (
	otherCase = 0.5
	typeShare = 1.5
	lookUp    = 2
)

// weakCosine is the nearness below which a best hit with less than half of the words counts
// as none. On the development half that is said of 3% of the queries, and of 55% of those
// that were written for another repository.
const weakCosine = 0.3

// The joining of adjacent chunks into one hit.
const (
	joinShare = 0.8 // of the best chunk's score
	joinMost  = 4   // chunks
	joinLines = 80  // of all together
)

// idf is the inverse document frequency of a word that df of n chunks hold.
func idf(n, df int) float64 {
	return math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
}

// bm25 is the score of a word with a weighted frequency in a chunk of a weighted length.
// Products are rounded one by one, so that every machine gives the same.
func bm25(idf float64, frequency, length uint32, average float64) float64 {
	tf := float64(frequency)
	norm := float64(saturation * (1 - lengthBias + float64(lengthBias*float64(length)/average)))
	return float64(idf*float64(tf*(saturation+1))) / (tf + norm)
}
