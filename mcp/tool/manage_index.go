package tool

import (
	"context"
	"slices"
)

// ManageIndex are the parameters of manage_index.
type ManageIndex struct {
	Action string `json:"action" jsonschema:"create (register and index path), sync, reindex, repair, cancel or clear; create to repair return an operation at once"`
	Where
	Path    string `json:"path,omitempty" jsonschema:"create: the directory, absolute"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"only say what would be done: files, chunks, cached and new embeddings"`
	Confirm string `json:"confirm,omitempty" jsonschema:"clear: the token that the first call gave"`
	Shape
}

// The actions of manage_index.
const (
	ActionCreate  = "create"
	ActionSync    = "sync"
	ActionReindex = "reindex"
	ActionRepair  = "repair"
	ActionCancel  = "cancel"
	ActionClear   = "clear"
)

// Actions lists the actions of manage_index.
func Actions() []string {
	return []string{ActionCreate, ActionSync, ActionReindex, ActionRepair, ActionCancel, ActionClear}
}

// manageParams are the tool's parameters with the caller's working directory.
type manageParams struct {
	Scope
	ManageIndex
}

func (c *call) manageIndex(ctx context.Context, p manageParams) error {
	if !slices.Contains(Actions(), p.Action) {
		return Invalid("action", "unknown action "+p.Action, Actions()...)
	}
	manage := ManageParams{Scope: p.Scope, Path: p.Path}
	switch p.Action {
	case ActionCreate:
		return c.index(ctx, manage)
	case ActionSync:
		return c.sync(ctx, manage)
	case ActionCancel:
		return c.cancel(ctx, manage)
	case ActionClear:
		return c.clear(ctx, ClearParams{Scope: p.Scope, Confirm: p.Confirm})
	}
	return c.reindex(ctx, manage)
}
