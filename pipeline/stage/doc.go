// Package stage owns the two stages that work on contents: Chunker turns files.changed
// into syntaxes and files.chunked, Embedder turns files.chunked into vectors and
// files.embedded. Both are handlers of a bus consumer: they may be given an event twice,
// late or out of order, commit to the store first, publish what follows, and are
// acknowledged last. Sealing is package apply's.
package stage
