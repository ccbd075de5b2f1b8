// Package rules decides what the calls of a store.Store do: which snapshot may be opened,
// what it is work against, when it may be sealed and replaced, what is retained and what a
// collection reaches, who holds a lease. Each rule is written once, over Rows: what one
// transaction of a store reads and changes, in batches.
//
// A store keeps rows and transactions and nothing else. Its method begins a transaction,
// calls the rule of the same name with its rows, and commits when the rule returned nil. A
// rule looks at everything that may refuse a call before it changes the first row, so that
// a store without a way to roll back keeps its promise of all or nothing too.
package rules
