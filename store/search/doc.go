// Package search answers queries from sealed snapshots: the gate that decides whether a
// snapshot may be read, and the one retrieval engine (words, vectors, symbols, fusion,
// ranking) that every store shares. It reads through store.Reader and declares the query
// embedder that it needs; it never writes.
package search
