package operation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/integrity"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/freshness"
)

// Store is what operations read and write; a store.Store is one.
type Store interface {
	integrity.Store
	Pending(ctx context.Context, id store.CodebaseID, number uint64, r store.Recipe) ([]store.PendingFile, error)
	SetCurrent(ctx context.Context, id store.CodebaseID, number uint64) error
	SetFailure(ctx context.Context, id store.CodebaseID, reason string) error
	Abandon(ctx context.Context, id store.CodebaseID, number uint64) error
}

// Followers give the synchronizer of a codebase; see freshness.Followers.
type Followers interface {
	Follow(id store.CodebaseID) (freshness.Synchronizer, error)
	Unfollow(id store.CodebaseID)
}

// Runner runs operations. All fields are required.
type Runner struct {
	Tracker   *Tracker
	Store     Store
	Recipe    store.Recipe // in force
	Followers Followers
	Settler   freshness.Settler
	// Go runs a function in a goroutine of the process's work, with the context of that.
	Go func(fn func(ctx context.Context) error)
	// Repair sets right what differs from a clean rebuild of the tree.
	Repair func(ctx context.Context, id store.CodebaseID) error
	// Compact merges the segments of a codebase when they are many.
	Compact func(ctx context.Context, id store.CodebaseID) (bool, error)
	// Tidy tidies store and log after an operation.
	Tidy func(ctx context.Context) error
	// Shared is set where other processes do part of the work, so that its counts come later.
	Shared bool
	Log    *slog.Logger
}

// Start begins an operation and returns at once.
func (r *Runner) Start(ctx context.Context, id store.CodebaseID, kind tool.OperationKind) (tool.Operation, error) {
	synchronizer, err := r.Followers.Follow(id)
	if err != nil {
		return tool.Operation{}, err
	}
	stopping, cancel := context.WithCancel(context.Background())
	op, fresh, err := r.Tracker.begin(id, kind, cancel)
	if err != nil || !fresh {
		cancel()
		if err != nil {
			return tool.Operation{}, err
		}
	}
	if fresh {
		r.Go(func(ctx context.Context) error {
			ctx, end := context.WithCancel(ctx)
			defer context.AfterFunc(stopping, end)()
			defer end()
			defer cancel()
			err := r.run(ctx, id, kind, synchronizer)
			if ctx.Err() == nil && stopping.Err() == nil {
				err = errors.Join(err, r.Note(ctx, id, err))
			}
			r.Tracker.end(op, err)
			return nil
		})
	}
	report, _, _ := r.Tracker.get(op.report.ID)
	return report, nil
}

func (r *Runner) run(ctx context.Context, id store.CodebaseID, kind tool.OperationKind, s freshness.Synchronizer) error {
	if kind == tool.OperationRepair {
		return r.Repair(ctx, id)
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
	if _, err := r.Settler.Settle(ctx, id, s, seen); err != nil {
		return advice.Damage(id, err)
	}
	if r.Shared {
		r.counted(ctx, id)
	}
	if err := r.forward(ctx, id); err != nil {
		return err
	}
	if err := integrity.Sound(ctx, r.Store, id, r.Recipe); err != nil {
		return err
	}
	if _, err := r.Compact(ctx, id); err != nil {
		r.Log.Warn("compaction failed", "codebase", id, "error", err)
	}
	return r.Tidy(ctx)
}

// countWait bounds how long an operation waits for the last of its counts.
const countWait = time.Second

// counted waits until the events of an operation's files were heard: the store may say that
// they are sealed before.
func (r *Runner) counted(ctx context.Context, id store.CodebaseID) {
	timer := time.NewTimer(countWait)
	defer timer.Stop()
	for {
		changed := r.Tracker.hub.Changed(id)
		if counts := r.Tracker.Last(id).Counts; counts.FilesEmbedded >= counts.FilesTotal {
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

// Last returns the operation that runs on a codebase, or the last one that ran.
func (r *Runner) Last(_ context.Context, id store.CodebaseID) (tool.Operation, error) {
	return r.Tracker.Last(id), nil
}

// forward serves the newest snapshot again after a rollback. The caller has settled it.
func (r *Runner) forward(ctx context.Context, id store.CodebaseID) error {
	codebase, err := r.Store.Codebase(ctx, id)
	if err != nil || codebase.Current == codebase.Latest {
		return err
	}
	if err := r.Store.SetCurrent(ctx, id, codebase.Latest); err != nil {
		return fmt.Errorf("serve snapshot %d again: %w", codebase.Latest, err)
	}
	r.Tracker.hub.Notify(id)
	return nil
}

// resumed tells the operation of work that was opened before it began: by an operation
// that was interrupted, or by a search.
func (r *Runner) resumed(ctx context.Context, id store.CodebaseID) error {
	codebase, err := r.Store.Codebase(ctx, id)
	if err != nil || codebase.Latest == 0 {
		return err
	}
	latest, err := r.Store.Snapshot(ctx, id, codebase.Latest)
	if err != nil || latest.Level == store.LevelFull {
		return err
	}
	pending, err := r.Store.Pending(ctx, id, codebase.Latest, r.Recipe)
	if err != nil {
		return fmt.Errorf("pending work: %w", err)
	}
	r.Tracker.resumed(latest, pending)
	return nil
}

// waitEvery is the time between reports of an operation that waits.
const waitEvery = time.Second

// Wait calls observe with each change of an operation until it ends, and now and then while it
// waits for something outside this machine.
func (r *Runner) Wait(ctx context.Context, id string, observe func(tool.Operation)) (tool.Operation, error) {
	ticker := time.NewTicker(waitEvery)
	defer ticker.Stop()
	for {
		_, op, ok := r.Tracker.get(id)
		if !ok {
			return tool.Operation{}, tool.Errorf(tool.CodeTargetNotFound, "there is no operation %s", id)
		}
		changed := r.Tracker.hub.Changed(op.codebase)
		report, _, _ := r.Tracker.get(id)
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
				again = r.Tracker.waits() == ""
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
func (r *Runner) Cancel(ctx context.Context, id store.CodebaseID) (tool.Operation, error) {
	report, ran, err := r.Tracker.Stop(ctx, id)
	if !ran || err != nil {
		return report, err
	}
	r.Followers.Unfollow(id)
	codebase, err := r.Store.Codebase(ctx, id)
	if err != nil || codebase.Latest == 0 {
		return report, err
	}
	latest, err := r.Store.Snapshot(ctx, id, codebase.Latest)
	if err != nil {
		return report, err
	}
	if latest.Level != store.LevelFull && !latest.Abandoned {
		err = r.Store.Abandon(ctx, id, latest.Number)
	}
	return report, err
}

// Note keeps why an operation failed, or that one succeeded.
func (r *Runner) Note(ctx context.Context, id store.CodebaseID, err error) error {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	codebase, cerr := r.Store.Codebase(ctx, id)
	if errors.Is(cerr, store.ErrNotFound) {
		return nil // it was cleared
	}
	if cerr != nil {
		return fmt.Errorf("keep the outcome: %w", cerr)
	}
	if codebase.Failure == reason {
		return nil
	}
	if err := r.Store.SetFailure(ctx, id, reason); err != nil {
		return fmt.Errorf("keep the outcome: %w", err)
	}
	return nil
}
