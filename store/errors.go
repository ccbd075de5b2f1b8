package store

import (
	"errors"
	"fmt"

	"github.com/freshet/freshet/sync/merkle"
)

// Errors that callers branch on.
var (
	ErrNotFound          = errors.New("not found")
	ErrNoSnapshot        = errors.New("no sealed snapshot")
	ErrNoFingerprint     = errors.New("snapshot without a fingerprint")
	ErrStaleFingerprint  = errors.New("fingerprint differs from the recipe in force")
	ErrConflict          = errors.New("snapshot conflict: another writer advanced the codebase")
	ErrAwaitingSeal      = errors.New("another snapshot of the codebase awaits sealing")
	ErrIncomplete        = errors.New("snapshot is incomplete")
	ErrNewerSchema       = errors.New("store was written by a newer freshet; upgrade this binary")
	ErrCorrupt           = errors.New("store is corrupt")
	ErrChecksum          = errors.New("checksum does not match")
	ErrMigrationModified = errors.New("an applied migration was modified")
	ErrClosed            = errors.New("store is closed")
	ErrDiskFull          = errors.New("disk is full")
	ErrUnavailable       = errors.New("store cannot be reached")
	ErrHeld              = errors.New("lease is held by another")
	ErrFenced            = errors.New("lease was taken over by another")
)

// IsDamage reports whether an error says that what the store holds is not what was written:
// a row, a segment or the database does not hold together, or does not have its checksum.
func IsDamage(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrChecksum)
}

// Damage names rows that are damaged.
type Damage struct {
	Contents  []merkle.Hash
	Syntaxes  []SyntaxKey
	Embedding string // the EmbeddingRecipe.Key of Vectors
	Vectors   []merkle.Hash
}

// DamagedError is the error of a read of several rows some of which are damaged. It wraps
// ErrCorrupt.
type DamagedError struct {
	Damage
	Err error // of the first row
}

// Error returns how many rows are damaged, and what is wrong with the first.
func (d *DamagedError) Error() string {
	return fmt.Sprintf("%d damaged rows, the first: %v", len(d.Contents)+len(d.Syntaxes)+len(d.Vectors), d.Err)
}

// Unwrap returns what is wrong with the first row.
func (d *DamagedError) Unwrap() error { return d.Err }
