// Package secret decides what is a secret: files by their names, and credentials by the
// form of the text that they stand in. It imports nothing of the project, so that whoever
// reads, shows or sends source text asks the same functions.
//
// Named decides about paths. A file with such a name is never opened, listed as left out,
// and refused by every reader.
package secret
