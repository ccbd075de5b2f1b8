// Package migrations holds the schemas of the stores as numbered SQL files and applies
// them with goose, each in one transaction, so that a process killed at any step resumes.
// goose keeps no checksums; a ledger beside its table does, written in the same
// transaction, so that a released migration that was edited afterwards is refused.
//
// A released file is never changed: add the next number, with a way down.
package migrations
