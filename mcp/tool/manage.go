package tool

import (
	"context"
	"path/filepath"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// index registers a directory when it is not yet, and indexes it.
func (c *call) index(ctx context.Context, p ManageParams) error {
	root := p.Path
	if root == "" && p.Codebase == "" {
		root = p.CWD
	}
	if root == "" {
		return c.manage(ctx, p, OperationIndex)
	}
	if !filepath.IsAbs(root) {
		return Invalid("path", "must be absolute: "+merkle.QuotePath(root))
	}
	b, err := c.Registry.Register(ctx, filepath.Clean(root), c.permit(p.Scope))
	if err != nil {
		return err
	}
	c.about(b)
	return c.operate(ctx, b, OperationIndex, p.Wait)
}

func (c *call) sync(ctx context.Context, p ManageParams) error {
	return c.manage(ctx, p, OperationSync)
}

func (c *call) reindex(ctx context.Context, p ManageParams) error {
	return c.manage(ctx, p, OperationReindex)
}

func (c *call) manage(ctx context.Context, p ManageParams, kind OperationKind) error {
	if p.Path != "" {
		return Invalid("path", "only index takes a path; name the codebase instead")
	}
	b, err := c.resolve(ctx, p.Scope)
	if err != nil {
		return err
	}
	return c.operate(ctx, b, kind, p.Wait)
}

// operate starts an operation and, when asked, stays until it ended.
func (c *call) operate(ctx context.Context, b store.Codebase, kind OperationKind, wait bool) error {
	operation, err := c.Operations.Start(ctx, b.ID, kind)
	if err != nil {
		return err
	}
	if !wait {
		reading, err := c.check(ctx, b, CheckOptions{Mode: ModeEventual})
		if err != nil {
			return err
		}
		c.env.Operation, c.env.State = &operation, stateOf(b, &operation, len(reading.Verdict.Requires) > 0)
		c.env.NextSteps = append(c.env.NextSteps, progressStep(string(b.ID)))
		return nil
	}
	c.env.Operation = &operation
	if err := c.await(ctx, b, operation); err != nil {
		return err
	}
	summary := c.env.Operation.Summary()
	c.env.Summary = &summary
	if parked := summary.FilesParked; parked > 0 {
		c.warn("files_parked", plural(parked, "file")+" could not be processed; status names each with its reason")
		c.partial()
	}
	ended := c.env.Operation
	_, err = c.check(ctx, b, CheckOptions{Mode: ModeVerified, MaxWait: -1})
	c.env.Operation = ended
	return err
}

// await passes on the progress of an operation until it ends, and judges the end.
func (c *call) await(ctx context.Context, b store.Codebase, operation Operation) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended, err := c.Operations.Wait(ctx, operation.ID, func(now Operation) {
		c.env.Operation, c.env.State = &now, stateOf(b, &now, false)
		if err := c.observe(Notice{Operation: &now}); err != nil {
			stop(err)
		}
	})
	if err != nil {
		return err
	}
	c.env.Operation = &ended
	switch ended.Phase {
	case PhaseFailed:
		reason := "no reason given"
		if len(ended.Errors) > 0 {
			reason = ended.Errors[0]
		}
		c.env.State = StateIndexFailed
		failed := Errorf(CodeIndexFailed, "%s of %s failed: %s", ended.Kind, b.Name, reason)
		if len(ended.NextSteps) == 0 {
			return failed.Next(manageStep("sync", string(b.ID), "tries again; what was done is not done twice"))
		}
		failed.NextSteps = ended.NextSteps
		return failed
	case PhaseCancelled:
		return Errorf(CodeInterrupted, "%s of %s was cancelled; what was done is kept", ended.Kind, b.Name).
			Next(manageStep("sync", string(b.ID), "goes on where it stopped"))
	}
	return nil
}

// cancel stops what runs on a codebase. Cancelling nothing is no error.
func (c *call) cancel(ctx context.Context, p ManageParams) error {
	b, err := c.resolve(ctx, p.Scope)
	if err != nil {
		return err
	}
	operation, err := c.Operations.Cancel(ctx, b.ID)
	if err != nil {
		return err
	}
	if _, err := c.check(ctx, b, CheckOptions{Mode: ModeEventual}); err != nil {
		return err
	}
	if operation.ID == "" {
		c.warn("nothing_to_cancel", "no operation runs on "+b.Name)
		return nil
	}
	c.env.Operation = &operation
	c.env.NextSteps = append(c.env.NextSteps, manageStep("sync", string(b.ID), "goes on where it stopped"))
	return nil
}

// clear removes a codebase from the index, in two steps: the first call says what would
// go, the second repeats it with the codebase's id as confirmation.
func (c *call) clear(ctx context.Context, p ClearParams) error {
	b, err := c.resolve(ctx, p.Scope)
	if err != nil {
		return err
	}
	if confirm := c.confirmation(b); p.Confirm != confirm {
		if _, err := c.check(ctx, b, CheckOptions{Mode: ModeEventual}); err != nil {
			c.warn(string(AsError(err).Code), AsError(err).Message) // an index that cannot be read can be cleared
		}
		facts, err := c.Inspector.Inspect(ctx, b.ID)
		if err != nil {
			return err
		}
		step := manageStep(ActionClear, string(b.ID), "removes the index; the files on disk are not touched")
		step.Arguments["confirm"] = confirm
		return Errorf(CodeConfirmationRequired,
			"clear removes the index of %s with %s and %s; repeat the call with confirm %s", b.Name,
			plural(facts.Counts.Files, "file"), plural(facts.Counts.Retained, "snapshot"), confirm).
			Detail("confirm", confirm).Next(step)
	}
	if err := c.Registry.Clear(ctx, b.ID); err != nil {
		return err
	}
	c.env.State = StateNotFound
	c.warn("cleared", "the index of "+b.Name+" is cleared; its files were not touched")
	return nil
}

// confirmation is the word that clear asks for. That of the tool goes with the index as it
// is, so that it cannot be known beforehand nor outlive what it was given for; a person on
// the command line types the id.
func (c *call) confirmation(b store.Codebase) string {
	if c.tool == "" {
		return string(b.ID)
	}
	return "clear-" + digestOf(b.ID, b.RegisteredAt.UnixNano(), b.Current)
}
