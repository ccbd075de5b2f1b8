// Package language tells what a file is by its name and its first bytes: its language by the
// names of GitHub's linguist, and whether it is vendored, a document, or generated.
//
// The tables and expressions are those of go-enry's data package. The rest of go-enry is left
// alone: its statistics of words are a table of 11 MB that every process would fill when it
// starts, for the few files that neither names nor expressions decide. Those go to the
// commonest of the languages in question.
package language
