package event

import (
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Type names an event, in the past tense.
type Type string

// The events.
const (
	SnapshotOpened     Type = "snapshot.opened"
	FilesChanged       Type = "files.changed"
	FilesRemoved       Type = "files.removed"
	FilesChunked       Type = "files.chunked"
	FilesEmbedded      Type = "files.embedded"
	FileParked         Type = "file.parked"
	FileUnparked       Type = "file.unparked"
	SnapshotSealed     Type = "snapshot.sealed"
	CodebaseRegistered Type = "codebase.registered"
	CodebaseCleared    Type = "codebase.cleared"
	StreamBaseline     Type = "stream.baseline"
)

// Limits of one message.
const (
	MaxPaths = 200
	MaxBytes = 256 << 10
)

// Event is one message of the log: a header and the one body that its type names. It
// carries hashes; bodies of files travel by claim check through the store's contents.
type Event struct {
	// Version is the version of the type's body, from 1.
	Version int  `json:"version"`
	Type    Type `json:"type"`
	// Codebase, Snapshot and Part identify the event; see ID.
	Codebase    store.CodebaseID  `json:"codebase"`
	Snapshot    uint64            `json:"snapshot"`
	Part        uint32            `json:"part"`
	Fingerprint store.Fingerprint `json:"fingerprint,omitempty"`
	At          time.Time         `json:"at"`

	Opened     *Opened     `json:"opened,omitempty"`
	Changed    *Changed    `json:"changed,omitempty"`
	Removed    *Removed    `json:"removed,omitempty"`
	Processed  *Processed  `json:"processed,omitempty"`
	Parked     *Parked     `json:"parked,omitempty"`
	Sealed     *Sealed     `json:"sealed,omitempty"`
	Registered *Registered `json:"registered,omitempty"`
	Baseline   *Baseline   `json:"baseline,omitempty"`
}

// Opened is the body of snapshot.opened.
type Opened struct {
	Parent  uint64       `json:"parent"`
	Root    merkle.Hash  `json:"root"`
	Rebuild bool         `json:"rebuild,omitempty"`
	Ref     string       `json:"ref,omitempty"`
	Changed int          `json:"changed"`
	Removed int          `json:"removed"`
	Recipe  store.Recipe `json:"recipe"`
}

// File is a file as events name it. Path is quoted by merkle.QuotePath.
type File struct {
	Path     string          `json:"path"`
	From     string          `json:"from,omitempty"`
	Content  merkle.Hash     `json:"content"`
	Size     int64           `json:"size"`
	Language string          `json:"language,omitempty"`
	Flags    store.FileFlags `json:"flags,omitempty"`
}

// Changed is the body of files.changed: files added, modified or renamed into place, or,
// after a rebuild or a lost log, files that are to be processed again.
type Changed struct {
	Files []File `json:"files"`
	// Slow is set where the files were taken out of another files.changed event, so that those
	// beside them need not wait: see Postponed.
	Slow bool `json:"slow,omitempty"`
}

// Removed is the body of files.removed.
type Removed struct {
	Paths []string `json:"paths"`
}

// Processed is the body of files.chunked and files.embedded: files of one files.changed
// event for which the stage is finished, done or parked.
type Processed struct {
	Files []File `json:"files"`
	// Reused is for how many of the files the store had the result, and Units how many
	// chunks or vectors were made for the others: for those who report progress.
	Reused int `json:"reused,omitempty"`
	Units  int `json:"units,omitempty"`
}

// Parked is the body of file.parked and file.unparked: the failure that parks the file, or
// did.
type Parked struct {
	Path    string      `json:"path"`
	Content merkle.Hash `json:"content"`
	Stage   store.Stage `json:"stage"`
	Version string      `json:"version"`
	Tries   int         `json:"tries"`
	Reason  string      `json:"reason"`
}

// Sealed is the body of snapshot.sealed.
type Sealed struct {
	Root   merkle.Hash `json:"root"`
	Level  string      `json:"level"`
	Files  int         `json:"files"`
	Parked int         `json:"parked"`
}

// Registered is the body of codebase.registered and codebase.cleared.
type Registered struct {
	Name string `json:"name"`
	Root string `json:"root"`
}

// Baseline is the body of stream.baseline, the first event of an incarnation of the log.
type Baseline struct {
	Incarnation string `json:"incarnation"`
	// Reason says why the log began anew: created, deleted, truncated, regressed, gap.
	Reason string `json:"reason"`
	// Previous is the incarnation and sequence that the store knew before.
	PreviousIncarnation string `json:"previous_incarnation,omitempty"`
	PreviousSequence    uint64 `json:"previous_sequence,omitempty"`
}
