package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/freshness"
)

// runner runs the operations of the host.
type runner struct{ *Host }

// Start begins an operation and returns at once.
func (r runner) Start(ctx context.Context, id store.CodebaseID, kind tool.OperationKind) (tool.Operation, error) {
	synchronizer, err := r.followers.Follow(id)
	if err != nil {
		return tool.Operation{}, err
	}
	opCtx, cancel := context.WithCancel(r.workCtx)
	op, fresh, err := r.ops.begin(id, kind, cancel)
	if err != nil || !fresh {
		cancel()
		if err != nil {
			return tool.Operation{}, err
		}
	}
	if fresh {
		r.work.Go(func() error {
			defer cancel()
			err := r.run(opCtx, id, kind, synchronizer)
			if opCtx.Err() == nil {
				err = errors.Join(err, r.note(opCtx, id, err))
			}
			r.ops.end(op, err)
			return nil
		})
	}
	report, _, _ := r.ops.get(op.report.ID)
	return report, nil
}

func (r runner) run(ctx context.Context, id store.CodebaseID, kind tool.OperationKind, s freshness.Synchronizer) error {
	if kind == tool.OperationRepair {
		return r.repair(ctx, id)
	}
	var seen merklesync.Observation
	var err error
	if kind == tool.OperationReindex {
		seen, err = s.Rebuild(ctx)
	} else {
		seen, err = s.Check(ctx)
	}
	if err != nil {
		return advice.Root(id, err)
	}
	if err := r.resumed(ctx, id); err != nil {
		return err
	}
	if _, err := r.settler().Settle(ctx, id, s, seen); err != nil {
		return advice.Damage(id, err)
	}
	if r.shared() {
		r.counted(ctx, id)
	}
	if err := r.forward(ctx, id); err != nil {
		return err
	}
	if err := r.sound(ctx, id); err != nil {
		return err
	}
	if _, err := r.pipeline.Sealer.Compact(ctx, id); err != nil {
		r.opts.Log.Warn("compaction failed", "codebase", id, "error", err)
	}
	return r.tidyUp(ctx)
}

// countWait bounds how long an operation waits for the last of its counts.
const countWait = time.Second

// counted waits until the events of an operation's files were heard: the store may say that
// they are sealed before.
func (r runner) counted(ctx context.Context, id store.CodebaseID) {
	timer := time.NewTimer(countWait)
	defer timer.Stop()
	for {
		changed := r.hub.Changed(id)
		if counts := r.ops.last(id).Counts; counts.FilesEmbedded >= counts.FilesTotal {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-changed:
		}
	}
}

// repair makes anew what differs from a clean rebuild of the tree.
func (r runner) repair(ctx context.Context, id store.CodebaseID) error {
	_, err := (canonist(r)).Verify(ctx, id, true)
	if advice.IsDamage(err) && !r.shared() {
		return r.makeAnew(ctx, func(tool.Notice) error { return nil })
	}
	if err != nil {
		return err
	}
	return r.tidyUp(ctx)
}

// tidyUp tidies after an operation, unless one of the processes that share the store does.
func (r runner) tidyUp(ctx context.Context) error {
	if r.shared() {
		return nil
	}
	return r.pipeline.Keeper.Tidy(ctx)
}

// Last returns the operation that runs on a codebase, or the last one that ran.
func (r runner) Last(_ context.Context, id store.CodebaseID) (tool.Operation, error) {
	return r.ops.last(id), nil
}

// forward serves the newest snapshot again after a rollback. The caller has settled it.
func (r runner) forward(ctx context.Context, id store.CodebaseID) error {
	codebase, err := r.store.Codebase(ctx, id)
	if err != nil || codebase.Current == codebase.Latest {
		return err
	}
	if err := r.store.SetCurrent(ctx, id, codebase.Latest); err != nil {
		return fmt.Errorf("serve snapshot %d again: %w", codebase.Latest, err)
	}
	r.hub.Notify(id)
	return nil
}

// resumed tells the operation of work that was opened before it began: by an operation
// that was interrupted, or by a search.
func (r runner) resumed(ctx context.Context, id store.CodebaseID) error {
	codebase, err := r.store.Codebase(ctx, id)
	if err != nil || codebase.Latest == 0 {
		return err
	}
	latest, err := r.store.Snapshot(ctx, id, codebase.Latest)
	if err != nil || latest.Level == store.LevelFull {
		return err
	}
	pending, err := r.store.Pending(ctx, id, codebase.Latest, r.recipe)
	if err != nil {
		return fmt.Errorf("pending work: %w", err)
	}
	r.ops.resumed(latest, pending)
	return nil
}

// waitEvery is the time between reports of an operation that waits.
const waitEvery = time.Second

// Wait calls observe with each change of an operation until it ends, and now and then while it
// waits for something outside this machine.
func (r runner) Wait(ctx context.Context, id string, observe func(tool.Operation)) (tool.Operation, error) {
	ticker := time.NewTicker(waitEvery)
	defer ticker.Stop()
	for {
		_, op, ok := r.ops.get(id)
		if !ok {
			return tool.Operation{}, tool.Errorf(tool.CodeTargetNotFound, "there is no operation %s", id)
		}
		changed := r.hub.Changed(op.codebase)
		report, _, _ := r.ops.get(id)
		observe(report)
		if report.Phase.Ended() {
			select { // what it was doing has ended too
			case <-op.done:
				return report, nil
			case <-ctx.Done():
				return report, ctx.Err()
			}
		}
		for again := true; again; {
			select {
			case <-ticker.C:
				again = r.providerWaits() == ""
			case <-changed:
				again = false
			case <-op.done:
				again = false
			case <-ctx.Done():
				return report, ctx.Err()
			}
		}
	}
}

// Cancel stops the operation of a codebase and gives up the snapshot it was filling. What
// was chunked and embedded stays in the store.
func (r runner) Cancel(ctx context.Context, id store.CodebaseID) (tool.Operation, error) {
	report, op := r.ops.cancelled(id)
	if op == nil {
		return tool.Operation{}, nil
	}
	select {
	case <-op.done:
	case <-ctx.Done():
		return report, ctx.Err()
	}
	r.followers.Unfollow(id)
	codebase, err := r.store.Codebase(ctx, id)
	if err != nil || codebase.Latest == 0 {
		return report, err
	}
	latest, err := r.store.Snapshot(ctx, id, codebase.Latest)
	if err != nil {
		return report, err
	}
	if latest.Level != store.LevelFull && !latest.Abandoned {
		err = r.store.Abandon(ctx, id, latest.Number)
	}
	return report, err
}

// note keeps why an operation failed, or that one succeeded.
func (h *Host) note(ctx context.Context, id store.CodebaseID, err error) error {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	codebase, cerr := h.store.Codebase(ctx, id)
	if errors.Is(cerr, store.ErrNotFound) {
		return nil // it was cleared
	}
	if cerr != nil {
		return fmt.Errorf("keep the outcome: %w", cerr)
	}
	if codebase.Failure == reason {
		return nil
	}
	if err := h.store.SetFailure(ctx, id, reason); err != nil {
		return fmt.Errorf("keep the outcome: %w", err)
	}
	return nil
}
