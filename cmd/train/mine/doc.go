// Package mine finds pairs of texts in source files: what a person wrote about code, and
// the code. It reads lines, not syntax: comments, indentation and the words that begin a
// definition look alike in most languages, and a corpus of gigabytes is read in minutes.
//
// A Miner is given the files of one source after the other and fills a pairs.Set.
package mine
