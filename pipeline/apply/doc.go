// Package apply owns sealing: it follows the work of the snapshot that awaits sealing and,
// when every file is done or parked, builds its retrieval segments and makes it current in
// one transaction. What a snapshot still lacks is always computed from the store, so an
// event lost, repeated or reordered delays a seal at most and never makes a wrong one.
package apply
