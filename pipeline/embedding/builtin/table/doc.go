// Package table is the form of a trained embedding model: words, each with a row of small
// integers and two scales. Open reads a table where it lies, without decoding it; Write
// makes one. The trainer and the built-in provider share the package, so that a text is
// cut into rows in training exactly as it is in use.
//
// A text's vector is the sum over its distinct rows of (1 + ln n) times the row, n being
// how often the row occurs, divided by its length. Sums are made in integers: every
// machine gives the same bits.
package table
