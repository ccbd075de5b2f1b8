// Package simulation runs the real pipeline (synchronizer, outbox, stages, sealer,
// reconciler and search engine) over the store and the log in memory, in virtual time,
// through a random history of edits and faults: crashes at the boundaries of transactions,
// stores and logs that are put back to an older copy, truncated or made anew, events that
// are lost, repeated, reordered and delayed, provider outages, damaged rows, unreadable
// files, suspended processes. It is a test-support package: its own test and `make
// simulate` are its users.
//
// One seed decides the history, and every delay and fault in it: Generate makes its
// operations and Run runs them inside a bubble of testing/synctest. Three things must hold:
//
//   - whenever the verdict of a read is current, the manifest, the contents, the syntax, the
//     vectors and the segments that serve it equal an index made from scratch of the tree
//     at that moment;
//   - a history that is not disturbed any more becomes current within SettleBound of
//     virtual time, with a log that is not damaged;
//   - no file is parked that an index made from scratch would not park.
//
// Minimize shortens a failing history by delta debugging.
package simulation
