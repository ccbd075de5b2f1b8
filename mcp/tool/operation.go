package tool

import (
	"strings"
	"time"
)

// OperationKind names what an operation does.
type OperationKind string

// The kinds of operation.
const (
	// OperationIndex brings a codebase from whatever state to a full snapshot of its tree.
	OperationIndex OperationKind = "index"
	// OperationSync scans the tree and seals what changed.
	OperationSync OperationKind = "sync"
	// OperationReindex opens a rebuild under the recipe in force, whether or not the tree
	// changed, and forgets the failures of parked files.
	OperationReindex OperationKind = "reindex"
	// OperationRepair rebuilds the tree beside the index, compares the two, and makes anew
	// what differs.
	OperationRepair OperationKind = "repair"
)

// Phase is where an operation stands.
type Phase string

// The phases, in order. The last three end an operation.
const (
	PhaseScanning  Phase = "scanning"
	PhaseChunking  Phase = "chunking"
	PhaseEmbedding Phase = "embedding"
	PhaseSealing   Phase = "sealing"
	PhaseDone      Phase = "done"
	PhaseFailed    Phase = "failed"
	PhaseCancelled Phase = "cancelled"
)

// Ended reports whether an operation in this phase is over.
func (p Phase) Ended() bool {
	return p == PhaseDone || p == PhaseFailed || p == PhaseCancelled
}

// Operation is a piece of work on a codebase, or the last report of it.
type Operation struct {
	ID        string        `json:"id"`
	Kind      OperationKind `json:"kind"`
	Phase     Phase         `json:"phase"`
	Counts    Counts        `json:"counts"`
	StartedAt time.Time     `json:"started_at"`
	UpdatedAt time.Time     `json:"updated_at"`
	// Waiting says what the operation waits for outside this machine, and for how long.
	Waiting string `json:"waiting,omitempty"`
	// Errors are the first few reasons, and ErrorCount how many there were.
	Errors     []string `json:"errors,omitempty"`
	ErrorCount int      `json:"error_count"`
	// NextSteps say what to do about an operation that failed.
	NextSteps []NextStep `json:"next_steps,omitempty"`
}

// Counts is the progress of an operation. Files go through it in the order of the fields:
// 100 % is FilesSealed equal to FilesTotal, which means searchable.
type Counts struct {
	// FilesSeen counts paths that the scan looked at, FilesSkipped those it left out.
	FilesSeen    int `json:"files_seen"`
	FilesSkipped int `json:"files_skipped"`
	// FilesTotal counts the files to process, 0 until the scan ended.
	FilesTotal    int `json:"files_total"`
	FilesChunked  int `json:"files_chunked"`
	FilesEmbedded int `json:"files_embedded"`
	FilesParked   int `json:"files_parked"`
	FilesSealed   int `json:"files_sealed"`
	// Chunks and Embedded count new chunks and vectors, Reused those that were there.
	Chunks   int   `json:"chunks"`
	Embedded int   `json:"embedded"`
	Reused   int   `json:"reused"`
	Bytes    int64 `json:"bytes"`
}

// String lists the counts that are not zero.
func (c Counts) String() string {
	parts := []string{}
	for _, count := range []struct {
		n    int
		what string
	}{
		{c.FilesSeen, "seen"}, {c.FilesSkipped, "left out"}, {c.FilesTotal, "to process"}, {c.FilesChunked, "chunked"},
		{c.FilesEmbedded, "embedded"}, {c.FilesParked, "parked"}, {c.FilesSealed, "sealed"},
		{c.Chunks, "new chunks"}, {c.Embedded, "new vectors"}, {c.Reused, "reused"},
	} {
		if count.n > 0 {
			parts = append(parts, grouped(count.n)+" "+count.what)
		}
	}
	if c.Bytes > 0 {
		parts = append(parts, size(c.Bytes))
	}
	return strings.Join(parts, ", ")
}

// Fraction is how much of the work is done, from 0 to 1; it is 1 only once everything is
// searchable. It is 0 while the scan runs, since the total is not known then.
func (o Operation) Fraction() float64 {
	if o.Phase == PhaseDone {
		return 1
	}
	if o.Counts.FilesTotal == 0 {
		return 0
	}
	done := 0.45*float64(o.Counts.FilesChunked) + 0.45*float64(o.Counts.FilesEmbedded) +
		0.1*float64(o.Counts.FilesSealed)
	return min(done/float64(o.Counts.FilesTotal), 0.99)
}

// Summary is what an index run did.
type Summary struct {
	FilesSeen    int   `json:"files_seen"`
	FilesIndexed int   `json:"files_indexed"`
	FilesSkipped int   `json:"files_skipped"`
	FilesParked  int   `json:"files_parked"`
	Chunks       int   `json:"chunks"`
	Embedded     int   `json:"embedded"`
	Reused       int   `json:"reused"`
	Bytes        int64 `json:"bytes"`
	DurationMs   int64 `json:"duration_ms"`
}

// Summary returns what the operation did so far.
func (o Operation) Summary() Summary {
	return Summary{
		FilesSeen:    o.Counts.FilesSeen,
		FilesIndexed: o.Counts.FilesSealed,
		FilesSkipped: o.Counts.FilesSkipped,
		FilesParked:  o.Counts.FilesParked,
		Chunks:       o.Counts.Chunks,
		Embedded:     o.Counts.Embedded,
		Reused:       o.Counts.Reused,
		Bytes:        o.Counts.Bytes,
		DurationMs:   o.UpdatedAt.Sub(o.StartedAt).Milliseconds(),
	}
}

// Notice is what a call says before its answer: progress, or a piece of a long text. It
// crosses the host's socket as JSON.
type Notice struct {
	Operation *Operation `json:"operation,omitempty"`
	Text      string     `json:"text,omitempty"`
	// Waiting says what a call waits for, since when, and how to stop it.
	Waiting string `json:"waiting,omitempty"`
}

// Observer takes the notices of one call, one at a time. An error ends the call: whoever
// asked is gone.
type Observer func(Notice) error
