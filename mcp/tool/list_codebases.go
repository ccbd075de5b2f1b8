package tool

import (
	"context"
	"slices"
)

// ListCodebases are the parameters of list_codebases.
type ListCodebases struct {
	View string `json:"view,omitempty" jsonschema:"list (default): all codebases; of one: state, progress, overview, health, fingerprint, history, why"`
	Where
	Path   string `json:"path,omitempty" jsonschema:"why: the path to explain; overview: the directory to describe, default the root"`
	WaitMs int    `json:"wait_ms,omitempty" jsonschema:"progress: wait this long for the operation to end or move on; at most 60000"`
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
	if p.View == "" {
		p.View = ListAll
	}
	if !slices.Contains(ListViews(), p.View) {
		return Invalid("view", "unknown view "+p.View, ListViews()...)
	}
	switch p.View {
	case ListWhy:
		return c.why(ctx, WhyParams{Scope: p.Scope, Path: p.Path})
	case ListHistory:
		return c.snapshots(ctx, SnapshotParams{Scope: p.Scope})
	}
	return c.status(ctx, StatusParams{Scope: p.Scope, Demand: p.Demand})
}
