package store

import "errors"

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
