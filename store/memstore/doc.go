// Package memstore is the in-memory twin of a store: maps under one lock, a full copy of
// the manifest for every snapshot, nothing clever. It exists to be obviously right, so that
// the real stores can be compared with it, and to serve tests that need any store. It keeps
// nothing after Close.
package memstore
