package tool

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/freshet/freshet/sync/merkle"
)

// ManageIndex are the parameters of manage_index.
type ManageIndex struct {
	Action string `json:"action" jsonschema:"create (register and index path), sync, reindex, repair, cancel or clear; create to repair return an operation at once"`
	Where
	Path    string `json:"path,omitempty" jsonschema:"create: the directory, absolute, below a root of the client or the operator"`
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
	if p.DryRun {
		return c.foretell(ctx, p)
	}
	manage := ManageParams{Scope: p.Scope, Path: p.Path}
	switch p.Action {
	case ActionCreate:
		return c.index(ctx, manage)
	case ActionSync:
		return c.sync(ctx, manage)
	case ActionReindex:
		return c.reindex(ctx, manage)
	case ActionRepair:
		return c.manage(ctx, manage, OperationRepair)
	case ActionCancel:
		return c.cancel(ctx, manage)
	}
	return c.clear(ctx, ClearParams{Scope: p.Scope, Confirm: p.Confirm})
}

// foretell says what an action would do, and does nothing.
func (c *call) foretell(ctx context.Context, p manageParams) error {
	kinds := map[string]OperationKind{
		ActionCreate: OperationIndex, ActionSync: OperationSync, ActionReindex: OperationReindex, ActionRepair: OperationRepair,
	}
	kind, ok := kinds[p.Action]
	if !ok {
		return Invalid("dry_run", "foretells create, sync, reindex and repair; clear asks before it does anything")
	}
	root := p.Path
	if p.Action != ActionCreate || root == "" && p.Codebase != "" {
		b, err := c.resolve(ctx, p.Scope)
		if err != nil {
			return err
		}
		root = b.Root
		if _, err := c.check(ctx, b, CheckOptions{Mode: ModeEventual}); err != nil {
			return err
		}
	} else if root == "" {
		root = p.CWD
	}
	if !filepath.IsAbs(root) {
		return Invalid("path", "must be absolute: "+merkle.QuotePath(root))
	}
	plan, err := c.Planner.Plan(ctx, filepath.Clean(root), kind, c.permit(p.Scope))
	if err != nil {
		return err
	}
	plan.Action = p.Action
	c.env.Plan = &plan
	again := map[string]any{"action": p.Action}
	if p.Action == ActionCreate {
		again["path"] = merkle.QuotePath(root)
	} else {
		again["codebase"] = string(c.env.Codebase.ID)
	}
	c.env.NextSteps = append(c.env.NextSteps, NextStep{ToolManage, again, "does it"})
	return nil
}
