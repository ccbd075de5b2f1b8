// Package merklesync owns the synchronizer of a codebase: it answers "is the index current,
// and if not make it so". A check scans the tree (package scan), compares it with the tree
// of the newest snapshot (package merkle), commits contents, manifest delta and the opened
// snapshot, and then publishes the events. One snapshot at a time awaits sealing; changes
// seen meanwhile gather for the next.
package merklesync
