// Package freshness proves, for every read, that what is served is what is on disk.
//
// Checker answers a read's demand: it has the tree of the codebase checked, waits within the
// caller's patience until the served snapshot has what the check saw, and says with a verdict
// what was proven. Followers run one synchronizer for each codebase: in this process, or,
// where several processes share a store, in the one that holds the codebase's lease, which
// the others ask. Settler waits for a seal, and Hub wakes those who wait.
//
// It knows neither tools nor hosts: what it needs of them it names (Sharing, Sealer, Peers).
package freshness
