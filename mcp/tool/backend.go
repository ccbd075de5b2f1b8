package tool

import (
	"context"
	"iter"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/secret"
	"github.com/freshet/freshet/sync/merkle"
)

// Backend is everything that the handlers need. All parts are required, and all may be
// called from several goroutines. An error that a part returns may be, or wrap, an *Error;
// the sentinels of package store are understood too, and anything else is CodeInternal.
type Backend struct {
	Catalog    Catalog
	Contents   Contents
	Registry   Registry
	Freshness  Checker
	Search     Searcher
	Disk       Disk
	Operations Operations
	Inspector  Inspector
	Planner    Planner
	Snapshots  Switcher
	Canon      Canon
	History    History
	Keeper     Keeper
	Sessions   Sessions
	// Masking remembers which contents hold no credentials; nil has each looked through
	// whenever it is shown.
	Masking *secret.Memory
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Catalog lists what is registered and retained. A store.Reader is one.
type Catalog interface {
	Codebases(ctx context.Context) ([]store.Codebase, error)
	Snapshots(ctx context.Context, id store.CodebaseID) ([]store.Snapshot, error)
	Manifest(ctx context.Context, id store.CodebaseID, number uint64) iter.Seq2[store.FileEntry, error]
}

// Contents reads what snapshots hold. A store.Reader is one.
type Contents interface {
	Content(ctx context.Context, h merkle.Hash) ([]byte, error)
	File(ctx context.Context, id store.CodebaseID, number uint64, path string) (store.FileEntry, error)
	Recipe(ctx context.Context, fp store.Fingerprint) (store.Recipe, error)
	Syntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error)
}

// Registry adds and removes codebases.
type Registry interface {
	// Register adds the directory at an absolute path, or returns the codebase that is
	// registered there. It indexes nothing. What the permit does not cover is refused.
	Register(ctx context.Context, root string, p Permit) (store.Codebase, error)
	// Admits returns nil when Register would take a directory, and why not otherwise.
	Admits(ctx context.Context, root string, p Permit) error
	// Clear cancels what runs and removes the codebase with its index; the files on disk
	// are not touched.
	Clear(ctx context.Context, id store.CodebaseID) error
}

// Permit says which directories a caller may have registered, or looked at before they are.
type Permit struct {
	// Person is set for calls of the command line, which may name any directory.
	Person bool
	// Operator are the directories that the operator gave, Client those of the client: its
	// roots and the directory that it was started in. An agent may name what lies below.
	Operator, Client []string
}

// Mode says how fresh a read must be.
type Mode string

// The modes of a read.
const (
	// ModeVerified checks the tree, catches up for at most MaxWait, then answers.
	ModeVerified Mode = "verified"
	// ModeStrict answers only when the served root equals the tree's.
	ModeStrict Mode = "strict"
	// ModeEventual answers from the last sealed snapshot without a check.
	ModeEventual Mode = "eventual"
)

// FreshnessModes lists the modes in the order in which they are documented.
func FreshnessModes() []Mode { return []Mode{ModeVerified, ModeStrict, ModeEventual} }

// CheckOptions says what a read demands of freshness.
type CheckOptions struct {
	Mode Mode
	// MaxWait bounds catching up; a negative one does not wait at all after the check.
	MaxWait time.Duration
	// MinToken is the oldest state that may be answered from, nil for any.
	MinToken *search.Token
	// At asks for a retained, sealed snapshot by its number, 0 for the one served. It is
	// read as it is: the verdict is unchecked.
	At uint64
}

// Reading is the outcome of a check: what the gate says, and what to read.
type Reading struct {
	Verdict search.Verdict
	// View is the sealed snapshot to read, nil while nothing is sealed. For a snapshot of
	// another recipe it is set too, and Verdict.Requires lists the differences; the
	// handler decides whether it may be served.
	View *store.View
	// CanEmbed is set when queries can be embedded under the recipe of the view, be it
	// that it is the recipe in force or that the old model is still reachable.
	CanEmbed bool
	// Running is the operation that works on the codebase, nil when none does.
	Running *Operation
}

// Checker proves freshness.
type Checker interface {
	// Check compares the tree with the served snapshot, catches up as the options allow,
	// and says what may be read. A behind verdict is not an error here, not even under
	// ModeStrict: the handler refuses it.
	Check(ctx context.Context, id store.CodebaseID, o CheckOptions) (Reading, error)
}

// Searcher answers a query from one sealed snapshot.
type Searcher interface {
	Search(ctx context.Context, view store.View, q search.Query) (search.Result, error)
}

// DiskState is how a path on disk compares with a content.
type DiskState uint8

// The states of a path.
const (
	// DiskSame: the file has exactly these bytes.
	DiskSame DiskState = iota
	// DiskChanged: the file has other bytes, or is not in the tree any more.
	DiskChanged
	// DiskGone: there is no such file.
	DiskGone
	// DiskUnseen: the file is on another host, which does not answer.
	DiskUnseen
)

// Disk reads files of registered roots, and never outside them: no symlink is followed
// out, no special file is opened. Paths are relative, with slashes, in raw bytes.
type Disk interface {
	// Compare says whether the file at path has the content now. It may answer from stat
	// data that proves it.
	Compare(ctx context.Context, c store.Codebase, path string, content merkle.Hash) (DiskState, error)
	// Live reads a file now. It returns CodePathNotFound when there is none.
	Live(ctx context.Context, c store.Codebase, path string) (LiveFile, error)
}

// LiveFile is a file as it is on disk now.
type LiveFile struct {
	// LeftOut says why the tree does not have the path, "" when it does. For a secret, a
	// symlink, a special file and one that is too large, Data is nil.
	LeftOut  store.LeftOut
	Data     []byte
	Hash     merkle.Hash
	Language string
}

// Operations runs the work on codebases: at most one operation for each at a time.
type Operations interface {
	// Start begins an operation and returns at once. When one of the same kind already
	// runs, it is returned; another kind gives CodeOperationInProgress.
	Start(ctx context.Context, id store.CodebaseID, kind OperationKind) (Operation, error)
	// Wait calls observe with each change of the operation, at most a few times a second,
	// until the operation ends, and returns its last state. A failed operation is not an
	// error: its Phase says so. When ctx ends Wait returns its error and the operation
	// runs on.
	Wait(ctx context.Context, operation string, observe func(Operation)) (Operation, error)
	// Last returns the operation that runs on a codebase, else the last one that ran since
	// the host started, else a zero Operation.
	Last(ctx context.Context, id store.CodebaseID) (Operation, error)
	// Cancel stops what runs and returns its last state, or a zero Operation when nothing
	// ran. What was done stays done.
	Cancel(ctx context.Context, id store.CodebaseID) (Operation, error)
}

// Inspector explains.
type Inspector interface {
	// Inspect gathers the facts of one codebase without checking the tree.
	Inspect(ctx context.Context, id store.CodebaseID) (Facts, error)
	// Why tells the story of one path, relative and in raw bytes.
	Why(ctx context.Context, id store.CodebaseID, path string) (WhyReport, error)
}

// Planner foretells.
type Planner interface {
	// Plan says what an operation of a kind would do on the directory at an absolute path,
	// which need not be registered, but covered by the permit. It changes nothing.
	Plan(ctx context.Context, root string, kind OperationKind, p Permit) (Plan, error)
}

// Switcher changes which snapshots are served and kept. A store.Writer is one.
type Switcher interface {
	SetPinned(ctx context.Context, id store.CodebaseID, number uint64, pinned bool) error
	SetCurrent(ctx context.Context, id store.CodebaseID, number uint64) error
}

// Canon compares the index with what it ought to be.
type Canon interface {
	// Export writes the sorted canonical lines of the served snapshot to write, in pieces
	// of whole lines, the last one "digest <hex>". With a nil write it only digests.
	Export(ctx context.Context, id store.CodebaseID, write func(text string) error) (Export, error)
	// Verify rebuilds the tree beside the index and compares. With repair it then sets
	// right what differs.
	Verify(ctx context.Context, id store.CodebaseID, repair bool) (Verification, error)
	// Replay rebuilds from the log, or from a recorded file, in an empty store.
	Replay(ctx context.Context, r Replaying) ([]CodebaseDigest, error)
}

// History reads the event log.
type History interface {
	// Record writes events and the contents they name to a new file at an absolute path.
	Record(ctx context.Context, file string) (Recording, error)
	// Events calls fn for each event of the log from a sequence on; with follow until ctx
	// ends, which is not an error then.
	Events(ctx context.Context, from uint64, follow bool, fn func(LogEvent) error) error
}

// Sessions keeps what agents were shown. A store.Store is one.
type Sessions interface {
	// Session returns a session whose time has not passed, or store.ErrNotFound.
	Session(ctx context.Context, id string) (store.Session, error)
	PutSession(ctx context.Context, s store.Session) error
}

// Keeper runs garbage collection and manages dead letters.
type Keeper interface {
	// Collect removes what the retention does not keep; a dry run only counts.
	Collect(ctx context.Context, dryRun bool) (store.Collected, error)
	// DeadLetters lists the messages that no worker could take, oldest first.
	DeadLetters(ctx context.Context) ([]DeadLetter, error)
	// Settle retries or drops dead letters; an empty list means all. It returns how many.
	Settle(ctx context.Context, letters []uint64, retry bool) (int, error)
}
