// Package segment owns the immutable retrieval segment: one blob with files, chunks,
// definitions, an inverted index (a term dictionary with postings by field), quantised vectors
// with their sign bits, and in larger segments an index of the trigrams of the contents.
// Signatures, comments and byte spans of definitions, which only
// a few hits of an answer need, stay in the syntax of the file. A blob is memory-mapped and
// read in place; Open validates its tables once, so that a damaged blob gives an error or a
// wrong answer, and never a panic.
//
// A Builder makes a blob from files, Open reads one. The search engine decides which files are
// alive and how they are scored, the store where blobs are kept.
//
// Ordinals number the files of a segment in the order in which they were added; chunks and
// definitions are numbered file by file in the order of their syntax.
package segment
