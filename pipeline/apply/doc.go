// Package apply owns sealing: it follows the work of the snapshot that awaits sealing and,
// when every file is done or parked, builds its retrieval segments and makes it current in
// one transaction. What a snapshot still lacks is always computed from the store, and
// confirmed three times: before segments are built, for every file that goes into one, and
// by the store inside the transaction that seals. So an event lost, repeated, reordered or
// of another life of the store delays a seal at most and never makes a wrong one.
package apply
