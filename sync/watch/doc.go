// Package watch tracks changes below one root through inotify, and proves that it has read
// the events of all changes before a point in time.
//
// A Watcher is a scan.Follower: the scan that enters a directory adds its watch before it
// lists the directory, so that a change is either seen by the scan or reported after it. The
// first scan of the whole tree with a Watcher makes the watches complete; from then on Prove
// returns the paths that must be scanned to bring an index up to date. New directories need
// no special care: the event of their name has the next scan enter them, which adds their
// watches before it lists them. Ignored directories are not entered and so not watched.
//
// # The proof
//
// The kernel queues an event before the system call that caused it returns, and the queue is
// read in order. Prove renames a file in a directory of its own, which the same inotify
// instance watches, to a new name (the cookie), and reads until it meets that name: it has
// then read the events of everything that was done before the call. The tree itself is never
// written.
//
// # Limits
//
// There are no events of stores through a shared memory map until the last handle on the
// file is closed; of writes through a hard link outside the tree that was made after the
// last scan of the file (files with several links at their scan are scanned each time); and
// of changes by another machine. Open refuses file systems that do not report every change,
// and a watcher that meets a mount point of another file system breaks. An audit, a periodic
// scan of the whole tree, finds missed changes.
package watch
