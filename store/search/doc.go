// Package search owns the query, the verdict and the one engine that scores, the same over
// every store. An Engine answers from the segments of a sealed snapshot: words by BM25,
// vectors by a scan of sign bits with an exact rerank, definitions by name, paths, and
// regular expressions over the contents. What it counts (documents, frequencies, lengths)
// is that of the snapshot's live chunks, so that a score does not depend on how the
// snapshot is cut into segments. A Reranker, where there is one, then puts the best hits of
// a query in words into its own order, or is passed over with a warning.
//
// Package reference is its slow, obvious twin and defines what is right. Freshness is
// proven elsewhere; JudgeFields says which reads a recipe permits.
package search
