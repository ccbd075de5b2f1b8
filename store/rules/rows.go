package rules

import (
	"context"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Rows are the rows of a store as one transaction sees and changes them. Methods that name
// one row return store.ErrNotFound when it does not exist. Methods that take several do their
// work in as many statements for many as for one where statements are round trips.
type Rows interface {
	CodebaseRows
	SnapshotRows
	ManifestRows
	SegmentRows
	WorkRows
	FailureRows
	OutboxRows
}

// CodebaseRows are the registered roots.
type CodebaseRows interface {
	// Codebase returns one codebase. In a transaction that writes, no other changes it or its
	// snapshots until the end.
	Codebase(ctx context.Context, id store.CodebaseID) (store.Codebase, error)
	// CodebaseAt returns the codebase that has a root in a place.
	CodebaseAt(ctx context.Context, place, root string) (store.Codebase, error)
	// AddCodebase adds a codebase. It reports false when its id or its place and root are taken.
	AddCodebase(ctx context.Context, c store.Codebase) (bool, error)
	// PutHeads writes Current and Latest of a codebase.
	PutHeads(ctx context.Context, c store.Codebase) error
	// EndGraceOf makes the contents and segments that the snapshots of a codebase name as old
	// as can be: they go with the next collection that finds nobody else naming them.
	EndGraceOf(ctx context.Context, id store.CodebaseID) error
	// DropCodebase drops a codebase with its snapshots, manifests, stat entries and failures.
	DropCodebase(ctx context.Context, id store.CodebaseID) error
	// DropSessions drops every session.
	DropSessions(ctx context.Context) error
}

// Snapshot is a snapshot with the list of its segments.
type Snapshot struct {
	store.Snapshot
	Segments []store.SegmentID
}

// SnapshotRows are snapshots and recipes.
type SnapshotRows interface {
	// Snapshot returns one snapshot. An unknown codebase is store.ErrNotFound, too.
	Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (Snapshot, error)
	// Snapshots lists the snapshots of a codebase that exists, newest first.
	Snapshots(ctx context.Context, id store.CodebaseID) ([]Snapshot, error)
	// AddSnapshot adds a snapshot without segments.
	AddSnapshot(ctx context.Context, n store.Snapshot) error
	// UpdateSnapshot writes what may change of a snapshot: Level, SealedAt, Abandoned, Pinned
	// and Segments.
	UpdateSnapshot(ctx context.Context, n Snapshot) error
	// Recipe returns the recipe of a fingerprint.
	Recipe(ctx context.Context, fp store.Fingerprint) (store.Recipe, error)
	// AddRecipe adds a recipe; one that exists stays.
	AddRecipe(ctx context.Context, fp store.Fingerprint, r store.Recipe) error
}

// Ended counts what an edit of a manifest took from the parent.
type Ended struct {
	Files   int   // files that the parent has and the snapshot has not, or has anew
	Bytes   int64 // their sizes
	Removed int   // those that the snapshot has not
}

// ManifestRows are the files of snapshots.
type ManifestRows interface {
	// EditManifest ends, with the snapshot n, the files of its parent at the paths of upserts
	// and removes, and adds upserts as files that begin with n. Both are sorted, without
	// repeats, and have no path in common; removes may name paths that the parent has not.
	EditManifest(ctx context.Context, n store.Snapshot, upserts []store.FileEntry, removes []string) (Ended, error)
	// Upserted lists the files of a snapshot that began after its base, sorted by path.
	Upserted(ctx context.Context, n store.Snapshot) ([]store.FileEntry, error)
	// Removed lists the paths of a snapshot's base, which is not 0, that it does not have, sorted.
	Removed(ctx context.Context, n store.Snapshot) ([]string, error)
	// PutStats upserts and removes stat entries; removes come first.
	PutStats(ctx context.Context, id store.CodebaseID, upserts []store.StatEntry, removes []string) error
}

// SegmentRows are segments and the files of them that died.
type SegmentRows interface {
	// Segments returns those of the ids that exist, without their dead files.
	Segments(ctx context.Context, ids []store.SegmentID) (map[store.SegmentID]store.SegmentRef, error)
	// EndGraceOfSegments makes segments as old as can be: they go with the next collection that
	// finds no snapshot naming them.
	EndGraceOfSegments(ctx context.Context, ids []store.SegmentID) error
	// Dead lists the files of segments that are dead in a snapshot, in any order, with repeats.
	Dead(ctx context.Context, number uint64, ids []store.SegmentID) (map[store.SegmentID][]uint32, error)
	// AddDead adds files to those of segments that die with a snapshot.
	AddDead(ctx context.Context, number uint64, dead map[store.SegmentID][]uint32) error
}

// WorkRows say what was done for contents.
type WorkRows interface {
	// HasContents returns the subset of hashes that are stored.
	HasContents(ctx context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error)
	// Progress returns which of the keys have a syntax, and which of those are marked as having
	// all their vectors.
	Progress(ctx context.Context, embedding string, keys []store.SyntaxKey) (chunked, embedded map[store.SyntaxKey]bool, err error)
}

// FailureRows are the failures of files, in a codebase that exists.
type FailureRows interface {
	// Failures lists the failures of a codebase, in any order.
	Failures(ctx context.Context, id store.CodebaseID) ([]store.Failure, error)
	// Failure returns the record that has the identity of f, without tries when there is none.
	Failure(ctx context.Context, f store.Failure) (store.Failure, error)
	// PutFailure writes a record in the place of the one with its identity.
	PutFailure(ctx context.Context, f store.Failure) error
	// DropFailures drops the failures of a path, with "" of all, and returns them in any order.
	DropFailures(ctx context.Context, id store.CodebaseID, path string) ([]store.Failure, error)
}

// OutboxRows are events that are not published, and the place in the log.
type OutboxRows interface {
	// PutOutbox adds events in their order; those that exist stay where they are.
	PutOutbox(ctx context.Context, events []store.OutboxEvent) error
	// DropOutbox drops events by their identities.
	DropOutbox(ctx context.Context, events []store.OutboxEvent) error
	// Position returns the log position. In a transaction that writes, no other changes it
	// until the end.
	Position(ctx context.Context) (store.LogPosition, error)
	// PutPosition writes the log position.
	PutPosition(ctx context.Context, at store.LogPosition) error
}

// Reached is what the snapshots that are retained reach by their recipes.
type Reached struct {
	Recipes    []store.Fingerprint
	Versions   []string // of syntaxes
	Embeddings []string // by EmbeddingRecipe.Key
}

// CollectRows are the rows as a collection removes them. Nobody else writes meanwhile.
type CollectRows interface {
	Codebases(ctx context.Context) ([]store.Codebase, error)
	Snapshots(ctx context.Context, id store.CodebaseID) ([]Snapshot, error)
	Recipe(ctx context.Context, fp store.Fingerprint) (store.Recipe, error)
	// DropSnapshots drops snapshots by their numbers.
	DropSnapshots(ctx context.Context, id store.CodebaseID, numbers []uint64) error
	// TrimManifest drops from the manifest of a codebase what no snapshot in left has. That a
	// file ended is kept while a snapshot's Removed has to tell it.
	TrimManifest(ctx context.Context, id store.CodebaseID, left []Snapshot) error
	// TrimFailures drops the failures of files, by path and content, that no snapshot has.
	TrimFailures(ctx context.Context, id store.CodebaseID) error
	// Sweep removes, in this order, and counts: contents put before young that no manifest
	// names; syntaxes of contents that are gone, or of other versions; the marks of syntaxes
	// that are gone, or of other embeddings; vectors that no syntax names, or of other
	// embeddings; segments put before young that no snapshot names, with their dead files;
	// other recipes.
	Sweep(ctx context.Context, young time.Time, reached Reached) (store.Collected, error)
}

// LeaseRows are leases with the clock they go by.
type LeaseRows interface {
	// Lease returns a lease, with nothing but its name when nobody ever had it. No other
	// transaction changes it until the end.
	Lease(ctx context.Context, name string) (store.Lease, error)
	PutLease(ctx context.Context, l store.Lease) error
	// Now is the time by which leases end. It is asked after Lease.
	Now(ctx context.Context) (time.Time, error)
}
