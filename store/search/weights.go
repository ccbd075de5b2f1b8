package search

import "math"

// The weights of BM25: words of a path and of the names that a chunk defines count several
// times, in frequencies and in lengths alike.
const (
	PathWeight = 3
	NameWeight = 0
	saturation = 1.2  // k1
	lengthBias = 0.75 // b
)

// The weights of the fusion, tuned on the development half of the evaluation. m is the
// largest base of the query.
const (
	vectorShare = 0.6
	textShare   = 0.4
	stemBoost   = 0.2 // x m x the share of the file's stem that the query names
	symbolBoost = 0.3 // x m when the chunk defines a symbol that the query names
	pathBoost   = 0.2 // x m x the share of the query, by idf, that the path holds
	fileBoost   = 0.3 // x the sum of score/rank of the next chunks of the file
	fileNext    = 4   // how many of them
	fileTop     = 60  // among so many of all chunks

	testPenalty  = 0.5
	asidePenalty = 0.6 // documents, examples, legacy, vendored and generated files
)

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
