// Package lexical owns the one tokeniser that index, query, embedder and trainer share. It
// cuts text into lower-cased sub-words: identifiers split at underscores, case changes and
// changes between letters and digits (HTTPServer gives http and server, sha256sum gives
// sha, 256 and sum). It also finds whole identifiers, the words of a path, and what kind of
// query a text is. It leaves weights, scores and vocabularies to its callers.
//
// Whoever changes which tokens come out changes Version, which is part of the recipe.
package lexical

// Version is the version of the tokeniser.
const Version = "1"
