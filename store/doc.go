// Package store owns the words of the index (codebase, snapshot, content, chunk, vector),
// the recipe with its fingerprint, and the seams through which everything is kept: Reader
// and Writer. What a store must do is defined by the suite in storetest; memstore is its
// in-memory twin and sqlitestore the embedded store.
//
// A store handle belongs to one tenant. Rows are never changed after the fact: contents,
// syntaxes, vectors and segments are immutable under their keys, and a manifest is kept as
// validity intervals (path, content, from, to), so that editing d files writes O(d) rows.
package store
