// Package merklesync owns the synchronizer of a codebase: it answers "is the index current,
// and if not make it so". A check scans the tree (package scan), compares it with the tree
// of the newest snapshot (package merkle), commits contents, manifest delta and the opened
// snapshot, and then publishes the events. One snapshot at a time awaits sealing; changes
// seen meanwhile gather for the next.
//
// A check without a watcher is a stat proof of the whole tree. With a live one (package
// watch) it is a cookie and a scan of what was heard of since the check before. A watcher
// goes live with a scan of the whole tree that it followed from its first directory on;
// when it breaks, checks are stat proofs until another is live. With Options.Watching,
// changes are indexed unasked: when they have been quiet for a while, or where nothing can
// be watched, by proofs at intervals.
package merklesync
