// Package watch hears of changes below one root through inotify, and proves that it has
// heard of all that were made before a moment.
//
// A Watcher is a scan.Follower: the scan that enters a directory adds its watch before it
// looks, so that a change is either seen by the scan or heard of after it. The first scan
// of the whole tree with a Watcher makes it complete; from then on Prove returns the
// paths that a scan must look at for its index to be true again. New directories need
// nothing more: their names are heard of, the next scan enters them, and what it finds in
// them is found after their watches were added. What the ignore rules leave out is not
// entered and so not watched.
//
// # The proof
//
// The kernel puts an event into the queue of an instance before the call that caused it
// returns, and a queue is read in order. Prove renames a file in a directory of its own,
// which the same instance watches, to a name never used before, and reads until it meets
// that name: whatever was done before Prove was called has then been read. The tree itself
// is never written.
//
// # What is not heard of
//
// Stores through a shared memory map until the last handle on the file is closed; writes
// through a name outside the tree that was made after the last scan of the file (files
// that had several names when they were scanned are looked at again each time); and
// changes that another machine makes. Open refuses file systems that are not known to
// tell of every change, and a watcher that meets a mount point of another one below its
// root breaks. An audit, a scan of the whole tree now and then, finds what was missed.
package watch
