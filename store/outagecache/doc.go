// Package outagecache is a store.Reader that caches what it reads, and answers from its LRU
// caches while a shared store cannot be reached.
//
// A reader without a connection to PostgreSQL has most of what its next answer needs: the
// segments are mapped, and the rest was read before. Cached answers are as of the last
// contact with the store; the caller must check Away and report it. Code that writes, or
// decides what to write, must not read through this package.
package outagecache
