// Package trigram provides an inverted index from the trigrams of texts to the texts that
// hold them, and the queries that literals and regular expressions become: which texts of an
// index may match (Cox, Regular Expression Matching with a Trigram Index, 2012). An answer
// may name a text that does not match, and never leaves out one that does.
//
// A trigram is three bytes of a folded text, none of them a line feed. Fold maps the letters
// that differ by case only to one, so that one index serves queries of either kind.
package trigram
