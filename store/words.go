package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/sync/merkle"
)

// CodebaseID names a codebase for ever. It is made of the characters [a-z0-9] only, so
// that it may stand in a subject of the event log.
type CodebaseID string

// ValidCodebaseID returns an error when id is empty or has another character.
func ValidCodebaseID(id CodebaseID) error {
	if id == "" {
		return errors.New("codebase id is empty")
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return fmt.Errorf("codebase id %q has a character outside a-z and 0-9", id)
		}
	}
	return nil
}

// Codebase is a registered root directory of the tenant.
type Codebase struct {
	ID   CodebaseID
	Name string
	// Place names the file system that Root is a path of, where several hosts share a
	// store; it is "" where one host has it to itself. It has no NUL byte.
	Place string
	// Root is the absolute path of the directory, its bytes as the file system gave them.
	Root string
	// Identity tells the directory that was registered from another at the same path.
	Identity     RootIdentity
	RegisteredAt time.Time
	// Current is the number of the snapshot that is served, 0 before the first seal.
	Current uint64
	// Latest is the number of the newest snapshot opened, 0 before the first. The manifest
	// rows that are open-ended are those of Latest.
	Latest uint64
	// Failure is the reason of the last failed indexing, empty once one succeeded.
	Failure string
}

// RootIdentity is the device and inode of a root directory.
type RootIdentity struct {
	Device, Inode uint64
}

// Level says how much of a snapshot is searchable.
type Level uint8

// The levels of a snapshot, in order.
const (
	// LevelOpen is a snapshot that nothing serves yet.
	LevelOpen Level = iota
	// LevelText is a snapshot whose every file is searchable by its words; syntax or
	// vectors of some may still be missing.
	LevelText
	// LevelFull is a snapshot whose every file is done or parked.
	LevelFull
)

// String returns open, text or full.
func (l Level) String() string {
	switch l {
	case LevelText:
		return "text"
	case LevelFull:
		return "full"
	}
	return "open"
}

// Snapshot is one numbered manifest of a codebase under one fingerprint. Only its level,
// its seal time and its pin ever change after it was opened.
type Snapshot struct {
	Codebase CodebaseID
	Number   uint64
	Parent   uint64
	// Base is the newest snapshot at or before Parent that is sealed full under the same
	// fingerprint: what this one is work against. It is 0 when Rebuild is set. It differs
	// from Parent only after snapshots that were abandoned. The store sets it at Open.
	Base        uint64
	Fingerprint Fingerprint
	Root        merkle.Hash
	Level       Level
	// Abandoned is set when the snapshot will never be sealed (further).
	Abandoned bool
	// Rebuild is set when every file of the manifest is work, not only those that differ
	// from the parent: for the first snapshot and for one under a new fingerprint.
	Rebuild  bool
	OpenedAt time.Time
	SealedAt time.Time
	Files    int
	Bytes    int64
	// Changed counts the files upserted and removed against the parent.
	Changed int
	Pinned  bool
	// Ref is what git called the tree when it was opened, "" outside git.
	Ref string
}

// FileFlags are what is known of a file beyond its language.
type FileFlags uint8

// The flags of a file.
const (
	FlagGenerated FileFlags = 1 << iota
	FlagVendored
	FlagTest
	FlagDocs
)

// FileEntry is a file of a manifest. Path is relative, with slashes, in raw bytes.
type FileEntry struct {
	Path     string
	Content  merkle.Hash
	Size     int64
	Language string // go-enry's name, for example "Go"; "" when unknown
	Flags    FileFlags
	// RenamedFrom is the path this content had in the parent, for an added file whose
	// content was removed elsewhere. It is kept for events and comparisons only.
	RenamedFrom string
}

// Stat is what the file system says of a file or directory without reading it.
type Stat struct {
	Size          int64
	MtimeNs       int64
	CtimeNs       int64
	Device, Inode uint64
	Mode          uint32
}

// StatEntry is what the last scan saw at a path. Directories are kept too, under their
// path ("" is the root), with Dir set; their XX digests the names in them.
type StatEntry struct {
	Path string
	Dir  bool
	Stat Stat
	// Racy is set when the entry changed so close to its scan that a later write could
	// carry the same timestamp: the next scan reads it again (git's racy-clean rule).
	Racy bool
	// XX and Content are the digests of the bytes read, zero when left out unread.
	XX      uint64
	Content merkle.Hash
	// Language and Flags are the classification of the bytes read.
	Language string
	Flags    FileFlags
	// LeftOut says why the file is not in the tree: "" when it is.
	LeftOut LeftOut
}

// LeftOut is the reason why a path is not in the tree.
type LeftOut string

// The reasons for leaving out a path.
const (
	LeftOutIgnored    LeftOut = "ignored"
	LeftOutBinary     LeftOut = "binary"
	LeftOutMinified   LeftOut = "minified"
	LeftOutTooLarge   LeftOut = "too_large"
	LeftOutSecret     LeftOut = "secret"
	LeftOutSymlink    LeftOut = "symlink"
	LeftOutSpecial    LeftOut = "special"
	LeftOutUnreadable LeftOut = "unreadable"
	LeftOutNested     LeftOut = "nested_repository"
	LeftOutUnstable   LeftOut = "unstable"
	LeftOutData       LeftOut = "data_directory"
)

// Content is the bytes of a file under their digest. Data is uncompressed; a store
// compresses it as it likes.
type Content struct {
	Hash merkle.Hash
	Data []byte
}

// Stage is a step of the pipeline that can fail for one file.
type Stage string

// The stages.
const (
	StageChunk Stage = "chunk"
	StageEmbed Stage = "embed"
)

// MaxTries is how often a stage tries a file before it is parked.
const MaxTries = 5

// Failure is the record of a file that a stage could not process. Its identity is
// (Codebase, Path, Content, Stage, Version): another content or version starts at zero.
// Version is Recipe.SyntaxVersion for StageChunk and EmbeddingRecipe.Key for StageEmbed.
type Failure struct {
	Codebase CodebaseID
	Path     string
	Content  merkle.Hash
	Stage    Stage
	Version  string
	Tries    int
	Reason   string
	Parked   bool
	At       time.Time
}

// PendingFile is a file of a snapshot that a stage has still to process.
type PendingFile struct {
	FileEntry
	Stage Stage
}

// OutboxEvent is an event that was committed with the rows it speaks of and is to be
// published. Its identity is (Codebase, Snapshot, Part); Data is opaque to the store.
type OutboxEvent struct {
	Codebase CodebaseID
	Snapshot uint64
	Part     uint32
	Data     []byte
}

// LogPosition is the place in the event log up to which the store knows it, with the
// incarnation of the log it was read from.
type LogPosition struct {
	Incarnation string
	Sequence    uint64
}

// SegmentID names an immutable retrieval segment of the store.
type SegmentID uint64

// SegmentRef is a segment as part of a snapshot. Dead lists, sorted, the file ordinals of
// the segment that the snapshot does not have any more.
type SegmentRef struct {
	ID     SegmentID
	Files  int
	Chunks int
	Bytes  int64
	Dead   []uint32
}

// ChunkRef names a chunk by its segment and its ordinal there.
type ChunkRef struct {
	Segment SegmentID
	Chunk   uint32
}

// View is what a reader needs to answer from one snapshot.
type View struct {
	Snapshot Snapshot
	Segments []SegmentRef
}
