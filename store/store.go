package store

import (
	"context"
	"iter"
	"time"

	"github.com/freshet/freshet/sync/merkle"
)

// Reader reads what was committed. Every method may be called from several goroutines and
// sees one consistent state. Slices and values returned are the caller's.
type Reader interface {
	// Epoch is a random word made with the store: a token of another epoch is unknown.
	Epoch() string

	// Codebase returns one codebase, or ErrNotFound.
	Codebase(ctx context.Context, id CodebaseID) (Codebase, error)
	// Codebases lists all, sorted by name, then id.
	Codebases(ctx context.Context) ([]Codebase, error)

	// Recipe returns the recipe of a fingerprint, or ErrNotFound.
	Recipe(ctx context.Context, fp Fingerprint) (Recipe, error)

	// Snapshot returns one retained snapshot, or ErrNotFound.
	Snapshot(ctx context.Context, id CodebaseID, number uint64) (Snapshot, error)
	// Snapshots lists the retained snapshots, newest first.
	Snapshots(ctx context.Context, id CodebaseID) ([]Snapshot, error)
	// View returns a sealed snapshot with its segments. It returns ErrNoSnapshot when the
	// snapshot is not sealed and ErrNoFingerprint when it has none.
	View(ctx context.Context, id CodebaseID, number uint64) (View, error)

	// Manifest yields the files of a snapshot sorted by path. Iteration stops at the first
	// error, which is yielded with a zero entry.
	Manifest(ctx context.Context, id CodebaseID, number uint64) iter.Seq2[FileEntry, error]
	// File returns one file of a snapshot, or ErrNotFound.
	File(ctx context.Context, id CodebaseID, number uint64, path string) (FileEntry, error)
	// Delta returns what a snapshot changed against its Base, both sorted by path: entries
	// of its manifest that began after Base, and paths of Base's manifest that it does not
	// have any more (a path that was replaced is only in upserted). With Base 0 it is the
	// whole manifest and nothing removed. It costs O(changes).
	Delta(ctx context.Context, id CodebaseID, number uint64) (upserted []FileEntry, removed []string, err error)
	// Stats yields every stat entry of a codebase, sorted by path, directories included.
	Stats(ctx context.Context, id CodebaseID) iter.Seq2[StatEntry, error]

	// Content returns the bytes of a content, verified against its hash, or ErrNotFound.
	Content(ctx context.Context, h merkle.Hash) ([]byte, error)
	// HasContents returns the subset of hashes that the store holds.
	HasContents(ctx context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error)
	// Syntax returns the syntaxes that exist of the keys asked for. When rows are damaged it
	// returns the others, and a *DamagedError that names the damaged ones.
	Syntax(ctx context.Context, keys []SyntaxKey) (map[SyntaxKey]Syntax, error)
	// HasSyntax returns the subset of keys that exist.
	HasSyntax(ctx context.Context, keys []SyntaxKey) (map[SyntaxKey]bool, error)
	// Vectors returns the vectors that exist under an EmbeddingRecipe.Key. When rows are damaged
	// it returns the others, and a *DamagedError that names the damaged ones.
	Vectors(ctx context.Context, embedding string, texts []merkle.Hash) (map[merkle.Hash]Vector, error)
	// HasEmbedded returns the subset of keys all of whose chunks have vectors.
	HasEmbedded(ctx context.Context, embedding string, keys []SyntaxKey) (map[SyntaxKey]bool, error)

	// Pending lists the work of a snapshot under a recipe: the upserted files of its Delta
	// (so its whole manifest when it is a rebuild) less the files done and the files
	// parked. A file without syntax is pending at StageChunk only. It is sorted by path.
	Pending(ctx context.Context, id CodebaseID, number uint64, recipe Recipe) ([]PendingFile, error)
	// Failures lists failures of a codebase, parked ones first, then by path.
	Failures(ctx context.Context, id CodebaseID) ([]Failure, error)

	// Outbox lists committed events not yet marked as published, in the order they were
	// committed, at most limit.
	Outbox(ctx context.Context, limit int) ([]OutboxEvent, error)
	// LogPosition returns the place in the event log that the store knows.
	LogPosition(ctx context.Context) (LogPosition, error)

	// Session returns a session whose time has not passed, or ErrNotFound.
	Session(ctx context.Context, id string) (Session, error)

	// OpenSegment maps a segment for reading. The bytes are valid until Close. It returns
	// ErrChecksum for a damaged one.
	OpenSegment(ctx context.Context, id SegmentID) (Segment, error)
	// Usage reports the space in use.
	Usage(ctx context.Context) (Usage, error)
}

// Segment is the bytes of a retrieval segment, mapped or cached. They must not be written.
type Segment interface {
	Bytes() []byte
	// Close releases the bytes. It may be called twice.
	Close() error
}

// Usage is the space a store takes.
type Usage struct {
	Contents      int   `json:"contents"`
	ContentBytes  int64 `json:"content_bytes"`
	StoredBytes   int64 `json:"stored_bytes"`
	Syntaxes      int   `json:"syntaxes"`
	Vectors       int   `json:"vectors"`
	Segments      int   `json:"segments"`
	SegmentBytes  int64 `json:"segment_bytes"`
	ManifestRows  int   `json:"manifest_rows"`
	DirectoryUsed int64 `json:"directory_bytes"`
}

// Opening is a snapshot to be opened with everything it brings.
type Opening struct {
	Codebase CodebaseID
	// Number must be one more than the codebase's Latest, and Parent equal to it.
	Number, Parent uint64
	Recipe         Recipe
	Root           merkle.Hash
	Rebuild        bool
	Ref            string
	At             time.Time
	Upserts        []FileEntry
	Removes        []string
	Contents       []Content
	// Retry forgets the failures of the codebase in the same transaction: parked files are
	// tried again.
	Retry bool
	// Stats are upserted and StatRemoves deleted in the same transaction.
	Stats       []StatEntry
	StatRemoves []string
	Events      []OutboxEvent
}

// Seal is a snapshot to be made current.
type Seal struct {
	Codebase CodebaseID
	Number   uint64
	Level    Level
	At       time.Time
	// Segments is the whole list of segments of the snapshot, in order. Dead maps a
	// segment to the file ordinals that die with this snapshot: they are dead in its view
	// and in those of all later ones, and stay alive in earlier ones.
	Segments []SegmentID
	Dead     map[SegmentID][]uint32
	Events   []OutboxEvent
}

// Writer changes a store. Every method is one atomic, durable transaction: after it
// returned nil a power cut loses nothing of it, and after an error nothing of it is seen.
// Every method may be repeated with the same arguments without changing the outcome,
// unless it says otherwise.
type Writer interface {
	// Register adds a codebase; ID, Name, Place, Root and Identity are the caller's.
	// Registering a root of a place that is registered returns that codebase; another root
	// or place under an ID that is taken is ErrConflict.
	Register(ctx context.Context, c Codebase) (Codebase, error)
	// SetIdentity records that another directory now stands at the codebase's root.
	SetIdentity(ctx context.Context, id CodebaseID, identity RootIdentity) error
	// SetFailure records why indexing failed, or with "" that it did not.
	SetFailure(ctx context.Context, id CodebaseID, reason string) error
	// Clear removes a codebase with all its rows, and every session, which may tell of its
	// files; contents that nothing else reaches go with the next Collect. Events it
	// committed stay in the outbox until published.
	Clear(ctx context.Context, id CodebaseID) error

	// PutContents stores contents ahead of the snapshot that will name them. It returns
	// ErrChecksum when one does not have its hash.
	PutContents(ctx context.Context, contents []Content) error
	// PutStats changes stat entries without a change of the tree.
	PutStats(ctx context.Context, id CodebaseID, upserts []StatEntry, removes []string) error
	// Open opens a snapshot. It returns ErrConflict when Number is not the next one and
	// ErrAwaitingSeal when the predecessor is neither sealed full nor abandoned. Opening
	// the same number with the same root and fingerprint again is a no-op. It returns
	// ErrIncomplete when an upserted file has a content that is neither brought nor
	// stored: bring it and open again. Removes come before upserts; a path that is
	// upserted counts as changed even when its entry is equal to the one before.
	Open(ctx context.Context, o Opening) (Snapshot, error)
	// Abandon gives up a snapshot that is not sealed full, so that the next may be opened.
	// One that was sealed at LevelText stays readable. A full one is ErrConflict.
	Abandon(ctx context.Context, id CodebaseID, number uint64) error
	// PutSyntax stores syntaxes. A key that exists keeps what it has.
	PutSyntax(ctx context.Context, records []SyntaxRecord) error
	// DropSyntax drops syntaxes, with the marks that say that they have all their vectors,
	// so that their files are pending at StageChunk again. Vectors stay.
	DropSyntax(ctx context.Context, keys []SyntaxKey) error
	// PutVectors stores vectors, and marks those keys of done all of whose chunks now have
	// one. A vector that exists stays as it is.
	PutVectors(ctx context.Context, embedding string, vectors []VectorRecord, done []SyntaxKey) error
	// PutSegment stores a segment. It is not idempotent: each call makes a segment, and
	// one that no snapshot names goes with the next Collect.
	PutSegment(ctx context.Context, id CodebaseID, files, chunks int, data []byte) (SegmentID, error)
	// Seal makes a snapshot readable at a level and current. A reader sees all of it or
	// none. Sealing at a level already reached is a no-op. Sealing a number below the
	// current one, or an abandoned one, returns ErrConflict. At LevelFull the same
	// transaction confirms that Pending, under the recipe of the snapshot, is empty, and
	// returns ErrIncomplete when it is not. It costs O(changes).
	Seal(ctx context.Context, s Seal) error
	// ReplaceSegments swaps segments of a sealed snapshot for one list that holds the
	// same files, after a merge. It returns ErrConflict when the snapshot's list is not
	// from any more, and nil when it is to already.
	ReplaceSegments(ctx context.Context, id CodebaseID, number uint64, from, to []SegmentID) error
	// SetCurrent serves another retained, sealed snapshot: the way back.
	SetCurrent(ctx context.Context, id CodebaseID, number uint64) error
	// SetPinned keeps a snapshot from collection, or stops keeping it.
	SetPinned(ctx context.Context, id CodebaseID, number uint64, pinned bool) error

	// RecordFailure adds one try to a failure and returns the record. When Tries reaches
	// MaxTries, or park is set, it is parked, and the event that announce, unless it is nil,
	// makes of the record of a parked one is committed with it. announce may be called more
	// than once. It is not idempotent.
	RecordFailure(ctx context.Context, f Failure, park bool, announce func(Failure) (OutboxEvent, error)) (Failure, error)
	// ForgetFailures removes the failures of a path at every stage; with "" of all paths.
	// It returns those that were parked.
	ForgetFailures(ctx context.Context, id CodebaseID, path string) ([]Failure, error)

	// Forget drops what can be made again from the files of a codebase: its stat entries,
	// the syntaxes of the contents that its manifests name, with vectors those of their
	// texts, and those of the contents that are damaged. Without, vectors stay, which are kept
	// by text: nobody is paid for them again. Snapshots stay as they are; opening a rebuild
	// after a scan makes everything anew.
	Forget(ctx context.Context, id CodebaseID, vectors bool) error

	// Discard drops those of the rows named that cannot be read back, with the marks that say
	// of a syntax that it has its vectors where that is not so any more: their work is pending
	// again, and a content is missing until it is put. Rows that are whole stay.
	Discard(ctx context.Context, d Damage) error

	// PutOutbox commits events that accompany no other rows.
	PutOutbox(ctx context.Context, events []OutboxEvent) error
	// MarkPublished takes events out of the outbox and moves the log position: forwards
	// within an incarnation, anywhere in another.
	MarkPublished(ctx context.Context, events []OutboxEvent, at LogPosition) error
	// SetLogPosition records the incarnation and sequence of the log.
	SetLogPosition(ctx context.Context, at LogPosition) error

	// PutSession keeps a session in the place of the one with its id, and drops those whose
	// time has passed.
	PutSession(ctx context.Context, s Session) error

	// Acquire takes the lease of a name for a time of the store's clock, or renews the one
	// that the holder has, with the token that it had. It returns ErrHeld, and the lease of
	// the other, while another holder's has time left.
	Acquire(ctx context.Context, name, holder string, ttl time.Duration) (Lease, error)
	// Release gives a lease back before its time. One that is another's by now, by holder
	// or by token, is left alone.
	Release(ctx context.Context, l Lease) error

	// Collect removes snapshots beyond the retention and everything that no retained
	// snapshot reaches. With DryRun it only counts.
	Collect(ctx context.Context, r Retention) (Collected, error)
}

// CollectGrace is how long Collect keeps a content or segment that no snapshot names: it
// may have been put ahead of the snapshot that will. A segment that was replaced in the
// list of a snapshot has no grace.
const CollectGrace = time.Hour

// Collected counts what Collect removed, or would remove. Bytes are those of contents,
// uncompressed, and of segments.
type Collected struct {
	Snapshots int   `json:"snapshots"`
	Contents  int   `json:"contents"`
	Syntaxes  int   `json:"syntaxes"`
	Vectors   int   `json:"vectors"`
	Segments  int   `json:"segments"`
	Bytes     int64 `json:"bytes"`
}

// Store is a reader and a writer with an end.
type Store interface {
	Reader
	Writer
	// Check looks for damage and returns ErrCorrupt with what it found.
	Check(ctx context.Context) error
	// Close releases the store. It may be called twice.
	Close() error
}
