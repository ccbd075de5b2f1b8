// Package datadir owns a data directory as a place on disk: who may use it, its lock, the
// names in it, the token of its HTTP clients, what killed processes left in it, and the
// damaged stores that were set aside in it. What the store and the log hold is theirs.
package datadir
