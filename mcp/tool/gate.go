package tool

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// DefaultMaxWait is how long a verified read catches up before it answers.
const DefaultMaxWait = 2 * time.Second

// maxMaxWait bounds what a caller may ask for.
const maxMaxWait = 10 * time.Minute

func (d Demand) options() (CheckOptions, error) {
	o := CheckOptions{Mode: d.Freshness, MaxWait: time.Duration(d.MaxWaitMs) * time.Millisecond}
	if o.Mode == "" {
		o.Mode = ModeVerified
	}
	if !slices.Contains(FreshnessModes(), o.Mode) {
		return o, Invalid("freshness", "unknown mode "+string(o.Mode), allowed(FreshnessModes())...)
	}
	if d.MaxWaitMs < 0 || o.MaxWait > maxMaxWait {
		return o, Invalid("max_wait_ms", "must lie between 0 and 600000")
	}
	if o.MaxWait == 0 {
		o.MaxWait = DefaultMaxWait
	}
	if d.MinToken != "" {
		token, err := search.ParseToken(d.MinToken)
		if err != nil {
			return o, Invalid("min_token", err.Error())
		}
		o.MinToken = &token
	}
	return o, nil
}

func allowed[S ~string](values []S) []string {
	words := make([]string, 0, len(values))
	for _, v := range values {
		words = append(words, string(v))
	}
	return words
}

// check asks for the verdict and enters it in the envelope.
func (c *call) check(ctx context.Context, b store.Codebase, o CheckOptions) (Reading, error) {
	reading, err := c.Freshness.Check(ctx, b.ID, o)
	if err != nil && o.Mode != ModeStrict && AsError(err).Code == CodeBusUnavailable {
		reading, err = c.unproven(ctx, b, o, AsError(err))
	}
	if err != nil {
		return reading, err
	}
	c.env.Freshness = freshnessOf(reading)
	c.env.Operation = reading.Running
	if reading.View != nil {
		b.Current = reading.View.Snapshot.Number
		c.env.Codebase.Ref = reading.View.Snapshot.Ref
	}
	if proven(reading) {
		b.Failure = "" // whatever failed before is made good
	}
	c.env.State = stateOf(b, reading.Running, len(reading.Verdict.Requires) > 0)
	c.pass(reading.Verdict.Warnings)
	if kept := reading.Verdict.Kept; len(kept) > 0 {
		c.step(keptStep(b, kept[0]))
	}
	return reading, nil
}

// unproven reads what is sealed while the event log cannot be reached: nothing that changed
// can be sealed, and nothing is known of the tree.
func (c *call) unproven(ctx context.Context, b store.Codebase, o CheckOptions, cause *Error) (Reading, error) {
	o.Mode = ModeEventual
	reading, err := c.Freshness.Check(ctx, b.ID, o)
	reading.Verdict.State, reading.Verdict.Reason = search.Unknown, cause.Message
	c.warn(string(cause.Code), "the event log cannot be reached; the answer is from the last sealed snapshot: "+cause.Message)
	c.partial()
	return reading, err
}

// proven reports whether the served snapshot is the tree's under the recipe in force.
func proven(r Reading) bool {
	current := r.Verdict.State == search.Current || r.Verdict.State == search.CaughtUp
	return current && len(r.Verdict.Requires) == 0
}

func freshnessOf(r Reading) Freshness {
	v := r.Verdict
	f := Freshness{
		State: v.State, Token: tokenOf(v.Token), Snapshot: v.Snapshot, Sequence: v.Sequence,
		Fingerprint: v.Fingerprint, CheckMs: v.CheckTook.Milliseconds(),
		PendingPaths: quoted(v.Pending), PendingCount: v.PendingCount,
		Parked: v.Parked, Ignored: v.Ignored, LinkedFiles: v.LinkedFiles, Reason: v.Reason, Requires: v.Requires,
	}
	if f.State == "" {
		f.State = search.Unknown
	}
	if !v.Root.IsZero() {
		f.MerkleRoot = v.Root.String()
	}
	if !v.CheckedAt.IsZero() {
		f.CheckedAt = &v.CheckedAt
	}
	if r.View == nil {
		f.PendingPaths = []string{} // every file is pending
		return f
	}
	f.Level, f.Files = r.View.Snapshot.Level.String(), r.View.Snapshot.Files
	return f
}

// tokenOf is a token as a word, "" for that of nothing.
func tokenOf(t search.Token) string {
	if t == (search.Token{}) {
		return ""
	}
	return t.String()
}

func quoted(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		out = append(out, merkle.QuotePath(p))
	}
	return out
}

// admit decides whether a reading may answer a search. It labels the envelope when the
// answer is less than current and complete.
func (c *call) admit(b store.Codebase, r Reading, o CheckOptions, mode search.Mode) error {
	c.pass(r.Verdict.Warnings)
	if r.View == nil {
		return notReady(b, r.Running)
	}
	if r.View.Snapshot.Fingerprint == "" {
		return requiresReindex(b, r, "the index carries no fingerprint, so nothing is known of how it was made")
	}
	if len(r.Verdict.Requires) > 0 {
		if reason := refusal(r, mode); reason != "" {
			return requiresReindex(b, r, reason)
		}
		c.warn(string(CodeRequiresReindex), "served from a snapshot of an older recipe ("+
			fieldList(r.Verdict.Requires)+"); the new one fills in the background")
		c.partial()
	}
	switch r.Verdict.State {
	case search.Current, search.CaughtUp:
	case search.Unchecked:
		if o.Mode == ModeStrict {
			return c.stale(b, r)
		}
	default:
		if o.Mode == ModeStrict {
			return c.stale(b, r)
		}
		if r.Verdict.State == search.Unknown && r.Verdict.Reason != "" {
			c.warn("not_proven", r.Verdict.Reason)
		}
		c.partial()
	}
	if r.View.Snapshot.Level == store.LevelText {
		c.warn("level_text", "syntax or vectors of some files are still missing; their words are searchable")
		c.partial()
	}
	return nil
}

// refusal says why a snapshot of another recipe may not answer, "" when it may.
func refusal(r Reading, mode search.Mode) string {
	permission := search.JudgeFields(r.Verdict.Requires, mode)
	switch {
	case permission.Serve, permission.TextServes && r.CanEmbed:
		return ""
	case permission.TextServes:
		return "queries cannot be embedded as the index was; modes text, symbol, path, exact and regex still answer"
	}
	return "queries cannot be compared with an index of another query side"
}

func fieldList(changes []store.FieldChange) string {
	parts := make([]string, 0, len(changes))
	for _, f := range changes {
		parts = append(parts, f.Label+": "+f.Old+" -> "+f.New)
	}
	return strings.Join(parts, ", ")
}

func requiresReindex(b store.Codebase, r Reading, reason string) *Error {
	message := "requires reindex: " + reason
	if len(r.Verdict.Requires) > 0 {
		message += " (" + fieldList(r.Verdict.Requires) + ")"
	}
	e := Errorf(CodeRequiresReindex, "%s", message).
		Detail("fields", append([]store.FieldChange{}, r.Verdict.Requires...))
	if r.Running != nil {
		e = e.Detail("operation", r.Running.ID).RetryAfter(2000)
	}
	return e.Next(manageStep("reindex", string(b.ID), "rebuilds the index under the recipe in force"))
}

func notReady(b store.Codebase, running *Operation) *Error {
	switch {
	case running != nil:
		return Errorf(CodeIndexing, "%s is being indexed: %s, %d %%", b.Name, running.Phase, int(100*running.Fraction())).
			Detail("operation", running.ID).RetryAfter(2000).
			Next(progressStep(string(b.ID)))
	case b.Failure != "":
		return Errorf(CodeIndexFailed, "indexing %s failed: %s", b.Name, b.Failure).
			Next(manageStep("create", string(b.ID), "tries again; what was done is not done twice"))
	}
	return Errorf(CodeNotIndexed, "%s is registered and not indexed yet", b.Name).
		Next(manageStep("create", string(b.ID), "indexes it"))
}

// stale refuses a strict read. What is behind is caught up with by a sync; what cannot be
// proven, because the tree cannot be looked at, only answers without that demand.
func (c *call) stale(b store.Codebase, r Reading) *Error {
	message := "the index is not proven to equal the tree"
	if r.Verdict.Reason != "" {
		message += ": " + r.Verdict.Reason
	}
	e := Errorf(CodeStaleTimeout, "%s", message).
		Detail("pending_count", r.Verdict.PendingCount).
		Detail("pending_paths", quoted(r.Verdict.Pending)).
		RetryAfter(1000)
	if r.Verdict.State == search.Unknown && c.tool != "" {
		return e.Next(c.again(map[string]any{"freshness": string(ModeVerified)}, "answers from the last sealed snapshot and says that nothing is proven"))
	}
	if r.Verdict.State == search.Unknown {
		return e.Next(commandStep("freshet status "+string(b.ID), "shows why the tree cannot be looked at"))
	}
	if kept := r.Verdict.Kept; len(kept) > 0 { // no sync reads what cannot be read
		return e.Next(keptStep(b, kept[0]))
	}
	return e.Next(manageStep("sync", string(b.ID), "catches up and waits for it"))
}
