// Package segment owns the immutable retrieval segment: one blob that holds files, chunks,
// definitions, a term dictionary with postings by field, and quantised vectors with their
// sign bits. What only a few hits of an answer need, the signatures, comments and byte spans
// of definitions, stays in the syntax of the file and is not repeated. A blob is mapped and read in place; opening checks its tables once, so that a
// damaged blob gives an error or a wrong answer, and never a panic.
//
// A Builder makes a blob from files, Open reads one. Which files are alive, how scores are
// made, and where blobs are kept is left to the search engine and the store.
//
// Ordinals number the files of a segment in the order in which they were added; chunks and
// definitions are numbered file by file in the order of their syntax.
package segment
