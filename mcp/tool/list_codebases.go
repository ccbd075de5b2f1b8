package tool

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/freshet/freshet/store"
)

// ListCodebases are the parameters of list_codebases.
type ListCodebases struct {
	View string `json:"view,omitempty" jsonschema:"list (default): all codebases; of one: state, progress, overview, health, fingerprint, history, why"`
	Where
	Path   string `json:"path,omitempty" jsonschema:"why: the path to explain; overview: the directory to describe, default the root"`
	WaitMs int    `json:"wait_ms,omitempty" jsonschema:"progress: wait this long for the operation to end; at most 60000"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of an earlier answer"`
	Demand
	Shape
}

// The views of list_codebases.
const (
	ListAll         = "list"
	ListState       = "state"
	ListProgress    = "progress"
	ListOverview    = "overview"
	ListHealth      = "health"
	ListFingerprint = "fingerprint"
	ListHistory     = "history"
	ListWhy         = "why"
)

// MaxPoll is the longest that a call for progress waits.
const MaxPoll = time.Minute

// ListViews lists the views of list_codebases, the default first.
func ListViews() []string {
	return []string{ListAll, ListState, ListProgress, ListOverview, ListHealth, ListFingerprint, ListHistory, ListWhy}
}

// listParams are the tool's parameters with the caller's working directory.
type listParams struct {
	Scope
	ListCodebases
}

func (c *call) listCodebases(ctx context.Context, p listParams) error {
	if p.WaitMs < 0 || time.Duration(p.WaitMs)*time.Millisecond > MaxPoll {
		return Invalid("wait_ms", "must lie between 0 and 60000")
	}
	switch p.View {
	case "", ListAll:
		return c.registered(ctx, p)
	case ListWhy:
		return c.why(ctx, WhyParams{Scope: p.Scope, Path: p.Path})
	case ListHistory:
		return c.history(ctx, p)
	}
	views := map[string]func(context.Context, store.Codebase, listParams) error{
		ListState: c.stateOfOne, ListProgress: c.progress, ListOverview: c.overview,
		ListHealth: c.health, ListFingerprint: c.fingerprint,
	}
	view, ok := views[p.View]
	if !ok {
		return Invalid("view", "unknown view "+p.View, ListViews()...)
	}
	b, err := c.resolve(ctx, p.Scope)
	if err != nil {
		return err
	}
	return view(ctx, b, p)
}

// registered lists every codebase on a line, without looking at the trees.
func (c *call) registered(ctx context.Context, p listParams) error {
	all, err := c.Catalog.Codebases(ctx)
	if err != nil {
		return err
	}
	infos := make([]CodebaseInfo, 0, len(all))
	for _, b := range all {
		info := CodebaseInfo{CodebaseRef: refOf(b, ""), Snapshot: b.Current}
		facts, err := c.Inspector.Inspect(ctx, b.ID)
		if err != nil {
			return err
		}
		info.Files, info.State = facts.Counts.Files, stateOf(b, facts.Running, false)
		if facts.Serving != nil {
			info.Ref = facts.Serving.Ref
		}
		infos = append(infos, info)
	}
	if len(infos) == 0 {
		c.warn("no_codebase", "no codebase is registered; a person registers a directory with `freshet index` in it")
		for _, dir := range c.registrable(ctx, all, p.Scope, append(slices.Clone(p.ClientRoots), p.CWD)) {
			c.step(createStep(dir))
		}
	}
	return paged(c, infos, listing{cursor: p.Cursor, of: []any{ListAll}}, func(shown []CodebaseInfo) { c.env.Registered = &shown })
}

// progress tells of the operation that runs on a codebase, or of the last one, and waits
// for its end when asked to.
func (c *call) progress(ctx context.Context, b store.Codebase, p listParams) error {
	last, err := c.Operations.Last(ctx, b.ID)
	if err != nil {
		return err
	}
	if last.ID != "" && !last.Phase.Ended() && p.WaitMs > 0 {
		if last, err = c.poll(ctx, last, time.Duration(p.WaitMs)*time.Millisecond); err != nil {
			return err
		}
	}
	if _, err := c.check(ctx, b, CheckOptions{Mode: ModeEventual}); err != nil {
		return err
	}
	if last.ID == "" {
		c.warn("no_operation", "no operation has run on "+b.Name+" since the host started")
		return nil
	}
	c.env.Operation = &last
	if !last.Phase.Ended() {
		c.env.NextSteps = append(c.env.NextSteps, progressStep(string(b.ID)))
		return nil
	}
	if last.Kind == OperationRepair && last.Phase == PhaseDone {
		c.warn("repair_ended", "the index was compared with a clean rebuild of the tree; what differed was made anew")
	} else {
		summary := last.Summary()
		c.env.Summary = &summary
	}
	if last.Phase == PhaseFailed {
		c.env.State = StateIndexFailed
		c.env.NextSteps = append(c.env.NextSteps, manageStep(ActionSync, string(b.ID), "tries again; what was done is not done twice"))
	}
	return nil
}

// poll waits for the end of an operation, at most for a while.
func (c *call) poll(ctx context.Context, o Operation, wait time.Duration) (Operation, error) {
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	var broken error
	ended, err := c.Operations.Wait(ctx, o.ID, func(now Operation) {
		o = now
		if err := c.observe(Notice{Operation: &now}); err != nil {
			broken = err
			stop()
		}
	})
	switch {
	case broken != nil:
		return o, broken
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return o, nil
	case err != nil:
		return o, err
	}
	return ended, nil
}

// fingerprint shows the recipe of the served snapshot, and what the one in force has
// otherwise.
func (c *call) fingerprint(ctx context.Context, b store.Codebase, _ listParams) error {
	reading, err := c.check(ctx, b, CheckOptions{Mode: ModeEventual})
	if err != nil {
		return err
	}
	if reading.View == nil {
		return notReady(b, reading.Running)
	}
	recipe, err := c.Contents.Recipe(ctx, reading.View.Snapshot.Fingerprint)
	if err != nil {
		return err
	}
	c.env.Recipe = &RecipeReport{
		Fingerprint: reading.View.Snapshot.Fingerprint, Fields: recipe.Fields(),
		Requires: append([]store.FieldChange{}, reading.Verdict.Requires...),
	}
	return c.mustRequire()
}

// history lists the retained snapshots, newest first.
func (c *call) history(ctx context.Context, p listParams) error {
	if err := c.snapshots(ctx, SnapshotParams{Scope: p.Scope}); err != nil {
		return err
	}
	of := listing{cursor: p.Cursor, snapshot: c.env.Freshness.Snapshot, of: []any{ListHistory, c.env.Codebase.ID}}
	return paged(c, *c.env.Snapshots, of, func(shown []SnapshotInfo) { c.env.Snapshots = &shown })
}
