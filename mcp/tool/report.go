package tool

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/freshet/freshet/store"
)

// Facts is what an Inspector knows of a codebase. Serving is nil before the first seal.
type Facts struct {
	Codebase store.Codebase
	Serving  *store.Snapshot
	Running  *Operation
	Parked   []store.Failure
	Counts   CodebaseCounts
	Lag      Lag
	Log      LogFacts
	// Degraded says why freshness costs more or proves less than it could, "" if not.
	Degraded string
	Watch    WatchReport
}

// CodebaseCounts counts what a codebase holds.
type CodebaseCounts struct {
	Files    int   `json:"files"`
	Bytes    int64 `json:"bytes"`
	Chunks   int   `json:"chunks"`
	Segments int   `json:"segments"`
	Retained int   `json:"snapshots"`
	// LeftOut counts the paths outside the tree by reason.
	LeftOut map[store.LeftOut]int `json:"left_out"`
}

// Lag is the work between the tree as last seen and the served snapshot. It says nothing
// about freshness: only equal roots do.
type Lag struct {
	Chunk  int `json:"chunk"`
	Embed  int `json:"embed"`
	Outbox int `json:"outbox"`
	// Log is the number of messages that some consumer has still to take.
	Log uint64 `json:"log"`
}

// LogFacts is where the event log stands.
type LogFacts struct {
	Incarnation string `json:"incarnation"`
	First       uint64 `json:"first"`
	Last        uint64 `json:"last"`
	Messages    uint64 `json:"messages"`
	DeadLetters int    `json:"dead_letters"`
	// Reset tells of damage for which the log was begun anew, nil when there was none.
	Reset *LogReset `json:"reset,omitempty"`
}

// LogReset says when and why the event log was begun anew. Nothing is lost with it: what is
// indexed is in the store, and the rest is made work again.
type LogReset struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// WhyReport is the story of one path. Steps are in the order of the pipeline.
type WhyReport struct {
	Path string `json:"path"`
	// Searchable is the conclusion: the served snapshot has the file as it is on disk.
	Searchable bool      `json:"searchable"`
	Steps      []WhyStep `json:"steps"`
	// Events are those of the log that name the path, oldest first, at most 20.
	Events []LogEvent `json:"events"`
}

// WhyStep is one station of a path: seen, ignored, chunked, embedded, sealed, parked.
type WhyStep struct {
	Step string `json:"step"`
	OK   bool   `json:"ok"`
	// Detail explains, and names the rule with its file and line where there is one.
	Detail string `json:"detail"`
}

// LogEvent is an event of the log. Summary is one line for people; Data is the event.
type LogEvent struct {
	Sequence uint64           `json:"sequence"`
	At       time.Time        `json:"at"`
	Type     string           `json:"type"`
	Codebase store.CodebaseID `json:"codebase"`
	Snapshot uint64           `json:"snapshot"`
	Summary  string           `json:"summary"`
	Data     json.RawMessage  `json:"data,omitempty"`
}

// Export is the end of a canonical export.
type Export struct {
	Snapshot uint64 `json:"snapshot"`
	Lines    int    `json:"lines"`
	Digest   string `json:"digest"`
}

// Verification compares the index with a clean rebuild of the tree.
type Verification struct {
	Equal         bool   `json:"equal"`
	DigestIndex   string `json:"digest_index"`
	DigestRebuilt string `json:"digest_rebuilt"`
	// Differences are the first 100 canonical lines that one side lacks.
	Differences     []Difference `json:"differences"`
	DifferenceCount int          `json:"difference_count"`
	// Repaired is set when what differed was set right; Equal then speaks of before.
	Repaired bool `json:"repaired"`
	// Kept names the damaged stores that were set aside, with the command that deletes each.
	Kept []string `json:"kept,omitempty"`
}

// Difference is a canonical line that only the index or only the rebuild has.
type Difference struct {
	Side string `json:"side"` // index or rebuilt
	Path string `json:"path"`
	Line string `json:"line"`
}

// Replaying says what to replay: a recorded file when File is set, else the live log.
type Replaying struct {
	// File is an absolute path, "" for the live log.
	File string
	// From and To bound the sequences, inclusive; 0 means the first and the last.
	From, To uint64
}

// CodebaseDigest is the canonical digest of one codebase after a replay.
type CodebaseDigest struct {
	Codebase store.CodebaseID `json:"codebase"`
	Name     string           `json:"name"`
	Snapshot uint64           `json:"snapshot"`
	Files    int              `json:"files"`
	Digest   string           `json:"digest"`
}

// Recording is what Record wrote.
type Recording struct {
	File     string `json:"file"`
	Events   int    `json:"events"`
	Contents int    `json:"contents"`
	// Masked counts the credentials that were covered.
	Masked int   `json:"masked,omitempty"`
	Bytes  int64 `json:"bytes"`
}

// DeadLetter is a message that no worker could take.
type DeadLetter struct {
	Letter   uint64           `json:"letter"`
	Sequence uint64           `json:"sequence"`
	At       time.Time        `json:"at"`
	Codebase store.CodebaseID `json:"codebase"`
	Consumer string           `json:"consumer"`
	Reason   string           `json:"reason"`
}

// CodebaseStatus is one codebase in an answer to status.
type CodebaseStatus struct {
	Codebase  CodebaseRef    `json:"codebase"`
	State     State          `json:"state"`
	Freshness Freshness      `json:"freshness"`
	Operation *Operation     `json:"operation,omitempty"`
	Failure   string         `json:"failure,omitempty"`
	Counts    CodebaseCounts `json:"counts"`
	Parked    []ParkedFile   `json:"parked"`
	Lag       Lag            `json:"lag"`
	Log       LogFacts       `json:"log"`
	Degraded  string         `json:"degraded,omitempty"`
	Watch     WatchReport    `json:"watch"`
}

// CodebaseInfo is one codebase in the list of all.
type CodebaseInfo struct {
	CodebaseRef
	State    State  `json:"state"`
	Snapshot uint64 `json:"snapshot"`
	Files    int    `json:"files"`
}

// RecipeReport is what the served snapshot was made by. Requires lists the fields that the
// recipe in force has otherwise.
type RecipeReport struct {
	Fingerprint store.Fingerprint   `json:"fingerprint"`
	Fields      []store.Field       `json:"fields"`
	Requires    []store.FieldChange `json:"requires"`
}

// Plan is what an operation would do.
type Plan struct {
	Action string `json:"action"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	Chunks int    `json:"chunks"`
	// EmbeddingsCached are chunks whose vector the store has, EmbeddingsNew the others.
	EmbeddingsCached int `json:"embeddings_cached"`
	EmbeddingsNew    int `json:"embeddings_new"`
	// Estimated counts the files that were never parsed: their chunks are guessed by size.
	Estimated int `json:"files_estimated"`
}

// ParkedFile is a file that could not be processed, or not yet.
type ParkedFile struct {
	Path   string      `json:"path"`
	Stage  store.Stage `json:"stage"`
	Tries  int         `json:"tries"`
	Parked bool        `json:"parked"`
	Reason string      `json:"reason"`
	At     time.Time   `json:"at"`
}

// SnapshotInfo is one retained snapshot.
type SnapshotInfo struct {
	Number      uint64            `json:"number"`
	Parent      uint64            `json:"parent"`
	Root        string            `json:"merkle_root"`
	Fingerprint store.Fingerprint `json:"fingerprint"`
	Level       string            `json:"level"`
	OpenedAt    time.Time         `json:"opened_at"`
	SealedAt    *time.Time        `json:"sealed_at"`
	Files       int               `json:"files"`
	Bytes       int64             `json:"bytes"`
	Changed     int               `json:"changed"`
	Ref         string            `json:"ref"`
	Pinned      bool              `json:"pinned"`
	Serving     bool              `json:"serving"`
}

// ManifestChange is a path, or at the other levels a symbol or chunk, that differs between
// two snapshots. The lines are those of the newer one, unless it was removed.
type ManifestChange struct {
	Kind string `json:"kind"` // added, modified, removed, renamed, reprocessed
	Path string `json:"path"`
	// From is what it was renamed from.
	From       string `json:"from,omitempty"`
	Name       string `json:"name,omitempty"`
	SymbolKind string `json:"symbol_kind,omitempty"`
	StartLine  int    `json:"start_line,omitempty"`
	EndLine    int    `json:"end_line,omitempty"`
}

// Compared counts what differs between two snapshots. Settings are the recipe fields that
// differ: what changed of the index without a change of the source, which is what was
// reprocessed.
type Compared struct {
	Level       string              `json:"level"`
	From        SnapshotInfo        `json:"from"`
	To          SnapshotInfo        `json:"to"`
	Added       int                 `json:"added"`
	Modified    int                 `json:"modified"`
	Removed     int                 `json:"removed"`
	Renamed     int                 `json:"renamed"`
	Reprocessed int                 `json:"reprocessed"`
	Settings    []store.FieldChange `json:"settings"`
}

// verdict says what changed in a word each.
func (c Compared) verdict() string {
	var parts []string
	if c.Added+c.Modified+c.Removed+c.Renamed > 0 {
		parts = append(parts, "the source changed")
	}
	if len(c.Settings) > 0 {
		parts = append(parts, "the index settings changed")
	}
	if len(parts) == 0 {
		return "nothing changed"
	}
	return strings.Join(parts, "; ")
}
