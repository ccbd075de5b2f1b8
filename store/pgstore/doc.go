// Package pgstore is the shared store: rows, manifests, syntaxes, vectors, compressed
// contents and segments in PostgreSQL, for any number of processes on any number of hosts.
// Readers keep the segments that they map in a directory of their own.
//
// A store belongs to one tenant. Its name begins every key, and a policy on every table
// shows a session no other tenant's rows. What is written once under its hash or key
// (contents, syntaxes, vectors) is shared by the codebases of the tenant. Everything that
// is deleted, is deleted under an exclusive lock of the tenant that every other write
// shares, so that nothing vanishes under a transaction that relies on it.
//
// Every write is tried again after a deadlock, a serialization failure or a lost
// connection. Whether a commit whose answer was lost happened is asked of the server by
// the transaction's id, so that nothing is written twice. When even that stays unknown the
// write fails with store.ErrUnavailable, and only the caller can tell whether to repeat it.
package pgstore
