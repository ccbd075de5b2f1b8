package search

import (
	"slices"
	"strings"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Freshness is what the gate says of the served snapshot against the tree.
type Freshness string

// The states of freshness.
const (
	// Current: the tree was checked and the served root equals it.
	Current Freshness = "current"
	// CaughtUp: the check found changes, and they were sealed before the answer.
	CaughtUp Freshness = "caught_up"
	// Behind: the check found changes that the answer does not have yet; they are named.
	Behind Freshness = "behind"
	// Unchecked: the caller asked for the last sealed snapshot without a check.
	Unchecked Freshness = "unchecked"
	// Unknown: nothing can be proven, for the reason given.
	Unknown Freshness = "unknown"
)

// Verdict is what the gate says of a read. It stands in every answer.
type Verdict struct {
	State       Freshness
	Token       Token
	Root        merkle.Hash
	Snapshot    uint64
	Level       store.Level
	Sequence    uint64
	Fingerprint store.Fingerprint
	CheckedAt   time.Time
	CheckTook   time.Duration
	// Pending names the paths that the answer lacks, at most 20 of PendingCount.
	Pending      []string
	PendingCount int
	// Kept names paths that cannot be read, or never stand still: they are served as they were
	// read last, and count as pending. At most 20.
	Kept []string
	// Parked counts files of the snapshot that could not be processed.
	Parked int
	// Ignored counts the paths that the ignore rules keep out of the tree, as the check met
	// them: an ignored directory counts once.
	Ignored int
	// LinkedFiles counts the files that have several hard links: a write through a link outside
	// the tree has no event. The check took their stat, which does not tell of a store through
	// a shared memory map.
	LinkedFiles int
	// Reason explains behind and unknown.
	Reason string
	// Requires lists the recipe fields that differ when the snapshot is of another recipe.
	Requires []store.FieldChange
	// Warnings are what the check noticed beside the changes.
	Warnings []Warning
}

// Keeps reports whether a path, or a directory above it, is one of Kept.
func (v Verdict) Keeps(path string) bool {
	return slices.ContainsFunc(v.Kept, func(kept string) bool {
		return path == kept || strings.HasPrefix(path, kept+"/")
	})
}

// Token orders states of codebases: a token of another epoch, or codebase, is unknown.
type Token struct {
	Epoch    string
	Codebase store.CodebaseID
	Snapshot uint64
	Root     merkle.Hash
}
