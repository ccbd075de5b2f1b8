package tool

// Scope names the codebase that a call is about. CWD is the caller's working directory,
// absolute; a name may be left out when CWD lies inside a codebase, or when CWD is empty
// and there is only one.
type Scope struct {
	Codebase string `json:"codebase,omitempty" jsonschema:"id, name or a path inside the codebase; may be left out when there is only one"`
	CWD      string `json:"cwd,omitempty" jsonschema:"working directory of the caller"`
	// AllowRoots and ClientRoots are given by the server that an agent calls, and by no
	// agent: the directories below which the operator, and the client, let it register.
	AllowRoots  []string `json:"allow_roots,omitempty"`
	ClientRoots []string `json:"client_roots,omitempty"`
}

// LocalMembers are the members of Scope that a transport, and no client, gives.
func LocalMembers() []string { return []string{"cwd", "allow_roots", "client_roots"} }

// Where names the codebase that a tool is called on. In the parameters of a verb Scope
// stands in its place.
type Where struct {
	Codebase string `json:"codebase,omitempty" jsonschema:"id, name or a path inside; may be left out when there is only one"`
}

// Demand says how fresh an answer must be.
type Demand struct {
	Freshness Mode   `json:"freshness,omitempty" jsonschema:"verified (default: check, catch up for at most max_wait_ms), strict (current or an error), eventual (unchecked)"`
	MaxWaitMs int    `json:"max_wait_ms,omitempty" jsonschema:"how long to catch up with changes before answering; default 2000"`
	MinToken  string `json:"min_token,omitempty" jsonschema:"freshness token of an earlier answer: never answer from an older state"`
}

// Shape says how an answer is to look.
type Shape struct {
	Verbosity Verbosity `json:"verbosity,omitempty" jsonschema:"summary, standard (default) or full: the same items with more of each"`
	// MaxTokens bounds the answer; negative means unbounded, which no tool may ask for.
	MaxTokens int    `json:"max_response_tokens,omitempty" jsonschema:"most tokens of the answer; default 4000, at most 25000"`
	Format    Format `json:"format,omitempty" jsonschema:"markdown (default) or json"`
	SessionID string `json:"session_id,omitempty" jsonschema:"a word of your choice that ties calls together for 30 minutes: what was shown before collapses to a line"`
}

// SearchParams are those of the verb search: the tool's, and what a command line adds.
type SearchParams struct {
	Scope
	SearchCodebase
	// Create registers and indexes CWD when it lies in no codebase.
	Create bool `json:"create,omitempty"`
}

// ReadParams are those of the verb read.
type ReadParams struct {
	Scope
	ReadCode
}

// StatusParams are the parameters of status. Without a codebase, and outside of any, all
// are listed.
type StatusParams struct {
	Scope
	Demand
}

// WhyParams are the parameters of why.
type WhyParams struct {
	Scope
	Path string `json:"path" jsonschema:"a path inside the codebase"`
}

// ManageParams are the parameters of index, sync, reindex and cancel.
type ManageParams struct {
	Scope
	// Path is the directory that index registers.
	Path string `json:"path,omitempty" jsonschema:"directory to register, absolute"`
	// Wait makes the call last until the operation ended.
	Wait bool `json:"wait,omitempty" jsonschema:"wait until the operation ended"`
}

// ClearParams are the parameters of clear.
type ClearParams struct {
	Scope
	Confirm string `json:"confirm,omitempty" jsonschema:"the id of the codebase, which the first call names"`
}

// SnapshotParams are the parameters of snapshots.
type SnapshotParams struct {
	Scope
	Action string `json:"action,omitempty" jsonschema:"list (default), pin, unpin, rollback"`
	Number uint64 `json:"number,omitempty" jsonschema:"the snapshot to pin, unpin or serve again"`
}

// DiffParams are those of the verb diff.
type DiffParams struct {
	Scope
	CompareSnapshots
}

// ExportParams are the parameters of export.
type ExportParams struct {
	Scope
	// Quiet leaves out the lines: only the digest is computed.
	Quiet bool `json:"quiet,omitempty"`
}

// VerifyParams are the parameters of verify.
type VerifyParams struct {
	Scope
	Repair bool `json:"repair,omitempty"`
}

// ReplayParams are the parameters of replay.
type ReplayParams struct {
	File string `json:"file,omitempty"`
	From uint64 `json:"from,omitempty"`
	To   uint64 `json:"to,omitempty"`
}

// RecordParams are the parameters of record.
type RecordParams struct {
	File string `json:"file"`
}

// EventsParams are the parameters of events.
type EventsParams struct {
	From   uint64 `json:"from,omitempty"`
	Follow bool   `json:"follow,omitempty"`
}

// CollectParams are the parameters of gc.
type CollectParams struct {
	DryRun bool `json:"dry_run,omitempty"`
}

// DeadLetterParams are the parameters of dead-letters. Without numbers retry and drop
// mean all letters.
type DeadLetterParams struct {
	Action  string   `json:"action,omitempty"`
	Letters []uint64 `json:"letters,omitempty"`
}
