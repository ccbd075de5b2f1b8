// Package sqlitestore is the embedded store: rows, manifests, syntaxes, vectors and
// compressed contents in one SQLite database in WAL mode, and retrieval segments as files
// beside it that readers map. One process opens a directory at a time; the caller holds
// its lock. Within the process there is one writing connection and a pool of reading ones.
//
// Rows are columns with constraints, so that sqlite3 can read a snapshot; what is compressed
// or opaque is a blob. SQLite has no checksums, so every row carries one, contents are
// compared with their hashes and segments with a checksum when they are first opened:
// what was damaged is reported as store.ErrCorrupt and not served.
package sqlitestore
