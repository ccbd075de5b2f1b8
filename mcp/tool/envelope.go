package tool

import (
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// Status is the outcome of a call.
type Status string

// The outcomes.
const (
	StatusOK Status = "ok"
	// StatusPartial is an answer that lacks something, which freshness, warnings or
	// truncated name.
	StatusPartial Status = "partial"
	StatusError   Status = "error"
)

// State is what has become of a codebase.
type State string

// The states of a codebase.
const (
	StateNotFound        State = "not_found"
	StateIndexing        State = "indexing"
	StateIndexed         State = "indexed"
	StateSyncCompleted   State = "sync_completed"
	StateIndexFailed     State = "indexfailed"
	StateRequiresReindex State = "requires_reindex"
)

// Envelope is every answer. A member that one verb alone fills is left out of the others'.
// Paths are quoted by merkle.QuotePath; lists are never null.
type Envelope struct {
	Status    Status      `json:"status"`
	Codebase  CodebaseRef `json:"codebase"`
	State     State       `json:"state"`
	Operation *Operation  `json:"operation,omitempty"`
	Freshness Freshness   `json:"freshness"`

	Results    []Hit `json:"results"`
	TotalCount int   `json:"total_count"`
	// TotalIsExact is false for a lower bound; NotSearched then says what it does not speak
	// of.
	TotalIsExact   bool                `json:"total_is_exact"`
	NotSearched    *search.NotSearched `json:"not_searched,omitempty"`
	ReturnedCount  int                 `json:"returned_count"`
	RemainingCount int                 `json:"remaining_count"`
	HasMore        bool                `json:"has_more"`
	NextCursor     string              `json:"next_cursor"`

	Truncated         bool `json:"truncated"`
	OriginalSizeChars int  `json:"original_size_chars"`
	ApproxTokens      int  `json:"approx_tokens"`

	Warnings  []search.Warning `json:"warnings"`
	NextSteps []NextStep       `json:"next_steps"`
	Error     *Error           `json:"error,omitempty"`
	SessionID string           `json:"session_id,omitempty"`
	LatencyMs int64            `json:"latency_ms"`
	// Notice says what the texts of results are; it is set where an answer is written as JSON.
	Notice string `json:"notice,omitempty"`

	Report
}

// Report is the member that a verb adds to the envelope.
type Report struct {
	Considered  *Considered       `json:"considered,omitempty"`
	Summary     *Summary          `json:"summary,omitempty"`
	Codebases   *[]CodebaseStatus `json:"codebases,omitempty"`
	Health      *Health           `json:"health,omitempty"`
	Registered  *[]CodebaseInfo   `json:"registered,omitempty"`
	Overview    *[]DirectoryInfo  `json:"overview,omitempty"`
	Recipe      *RecipeReport     `json:"recipe,omitempty"`
	Plan        *Plan             `json:"plan,omitempty"`
	Why         *WhyReport        `json:"why,omitempty"`
	Snapshots   *[]SnapshotInfo   `json:"snapshots,omitempty"`
	Changes     *[]ManifestChange `json:"changes,omitempty"`
	Compared    *Compared         `json:"compared,omitempty"`
	Export      *Export           `json:"export,omitempty"`
	Digests     *[]CodebaseDigest `json:"digests,omitempty"`
	Recording   *Recording        `json:"recording,omitempty"`
	Events      *[]LogEvent       `json:"events,omitempty"`
	Collected   *store.Collected  `json:"collected,omitempty"`
	DeadLetters *[]DeadLetter     `json:"dead_letters,omitempty"`
	Settled     *int              `json:"settled,omitempty"`
	Build       *Build            `json:"build,omitempty"`
	Findings    *[]Finding        `json:"findings,omitempty"`
	Usage       string            `json:"usage,omitempty"` // what help prints
	*Verification
}

// CodebaseRef names the codebase that an answer speaks of; all empty when none.
type CodebaseRef struct {
	ID   store.CodebaseID `json:"id"`
	Name string           `json:"name"`
	Root string           `json:"root"`
	// Ref is what git called the tree when the served snapshot was opened.
	Ref string `json:"ref"`
}

// Freshness is the verdict as the envelope shows it.
type Freshness struct {
	State        search.Freshness    `json:"state"`
	Token        string              `json:"token"`
	MerkleRoot   string              `json:"merkle_root"`
	Snapshot     uint64              `json:"snapshot"`
	Level        string              `json:"level"`
	Sequence     uint64              `json:"sequence"`
	Fingerprint  store.Fingerprint   `json:"fingerprint"`
	CheckedAt    *time.Time          `json:"checked_at"`
	CheckMs      int64               `json:"check_ms"`
	PendingPaths []string            `json:"pending_paths"`
	PendingCount int                 `json:"pending_count"`
	Files        int                 `json:"files"`
	Parked       int                 `json:"parked"`
	Ignored      int                 `json:"ignored,omitempty"`
	LinkedFiles  int                 `json:"linked_files,omitempty"`
	Reason       string              `json:"reason,omitempty"`
	Requires     []store.FieldChange `json:"requires,omitempty"`
}

// Hit is one item of an answer. Lines are 1-based and inclusive. HitFields says which
// members each verbosity shows.
type Hit struct {
	ID         string         `json:"id"`
	Kind       search.HitKind `json:"kind"`
	FilePath   string         `json:"file_path"`
	StartLine  int            `json:"start_line"`
	EndLine    int            `json:"end_line"`
	FQN        string         `json:"fqn,omitempty"`
	SymbolKind string         `json:"symbol_kind,omitempty"`
	Signature  string         `json:"signature,omitempty"`
	Edges      *Edges         `json:"edges,omitempty"`
	// Verified is set when the file had this content at answer time.
	Verified bool `json:"verified"`
	// Seen is set when the session was shown this item before; its text is left out then.
	Seen bool `json:"seen,omitempty"`
	// Index says of a file that was read how the served snapshot has it: indexed,
	// changed or unindexed.
	Index string `json:"index,omitempty"`
	Lines int    `json:"total_lines,omitempty"`

	Language   string   `json:"language,omitempty"`
	Parameters []string `json:"parameters,omitempty"`
	Doc        string   `json:"doc,omitempty"`
	DependsOn  []string `json:"depends_on,omitempty"`
	Content    string   `json:"content,omitempty"`
	// Marks are where a matching line matches, in bytes of Content.
	Marks           []search.Mark `json:"marks,omitempty"`
	SimilarityScore float64       `json:"similarity_score,omitempty"`
	ContentHash     merkle.Hash   `json:"content_hash,omitzero"`

	ContextBefore string          `json:"context_before,omitempty"`
	ContextAfter  string          `json:"context_after,omitempty"`
	Explain       *search.Explain `json:"explain,omitempty"`
}

// Edges counts what a definition uses: references inside of it.
type Edges struct {
	Calls    int `json:"calls,omitempty"`
	Imports  int `json:"imports,omitempty"`
	Types    int `json:"types,omitempty"`
	Inherits int `json:"inherits,omitempty"`
}

// Considered says what a search looked at, so that an empty answer explains itself.
type Considered struct {
	Files        int            `json:"files"`
	Chunks       int            `json:"chunks"`
	Removed      map[string]int `json:"removed_by_filter"`
	UnknownTerms []string       `json:"unknown_terms"`
}

// NextStep is the exact next call: a tool with its arguments, or tool "command_line" with
// a command.
type NextStep struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Why       string         `json:"why"`
}

// Build names the binary.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

func newEnvelope() *Envelope {
	return &Envelope{
		Status:       StatusOK,
		Freshness:    Freshness{State: search.Unknown, PendingPaths: []string{}},
		Results:      []Hit{},
		TotalIsExact: true,
		Warnings:     []search.Warning{},
		NextSteps:    []NextStep{},
	}
}

// ExitCode is the exit code of a verb that ended with this envelope.
func (e *Envelope) ExitCode() int {
	if e.Error != nil {
		return e.Error.Code.ExitCode()
	}
	if v := e.Verification; v != nil && !v.Equal && !v.Repaired {
		return ExitDrift
	}
	return ExitOK
}
