// Package operation runs the work on codebases that callers start and wait for (index, sync,
// reindex, repair), at most one operation for each codebase, and foretells what one would do.
package operation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/remote"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/freshness"
	"github.com/freshet/freshet/sync/scan"
)

// Tracker keeps the running operation of each codebase and the last report of it. It is
// the observer of synchronizers, stages and sealer.
type Tracker struct {
	now    func() time.Time
	hub    *freshness.Hub
	advise func(store.CodebaseID, error) []tool.NextStep // what to do about an operation that failed
	waits  func() string                                 // what embedding waits for, "" for nothing

	mu      sync.Mutex // guards what follows
	next    int
	current map[store.CodebaseID]*operation
	byID    map[string]*operation
}

type operation struct {
	codebase store.CodebaseID
	report   tool.Operation
	snapshot uint64
	made     int // files of the snapshot that were embedded and not found in the store
	cancel   context.CancelFunc
	fatal    error // why a worker gave the operation up
	done     chan struct{}
}

// NewTracker returns a tracker of nothing. advise says what to do about an operation that
// failed, waits what embedding waits for, "" for nothing.
func NewTracker(h *freshness.Hub, now func() time.Time, advise func(store.CodebaseID, error) []tool.NextStep, waits func() string) *Tracker {
	return &Tracker{now: now, hub: h, advise: advise, waits: waits, current: map[store.CodebaseID]*operation{}, byID: map[string]*operation{}}
}

// begin makes an operation, or returns the one of the same kind that runs. fresh says
// which; another kind that runs is an error.
func (o *Tracker) begin(id store.CodebaseID, kind tool.OperationKind, cancel context.CancelFunc) (op *operation, fresh bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if running := o.current[id]; running != nil && !running.report.Phase.Ended() {
		if running.report.Kind == kind || kind == tool.OperationSync {
			return running, false, nil
		}
		return nil, false, tool.Errorf(tool.CodeOperationInProgress, "%s is running on this codebase; wait for it or cancel it", running.report.Kind).
			Detail("operation", running.report.ID)
	}
	if last := o.current[id]; last != nil {
		delete(o.byID, last.report.ID)
	}
	o.next++
	now := o.now().UTC()
	op = &operation{
		codebase: id, cancel: cancel, done: make(chan struct{}),
		report: tool.Operation{
			ID: fmt.Sprintf("op%d-%s", o.next, id), Kind: kind, Phase: tool.PhaseScanning,
			StartedAt: now, UpdatedAt: now,
		},
	}
	o.current[id], o.byID[op.report.ID] = op, op
	return op, true, nil
}

// end closes an operation with its outcome.
func (o *Tracker) end(op *operation, err error) {
	o.mu.Lock()
	if op.fatal != nil {
		err = op.fatal
	}
	err = adviseFull(err)
	switch {
	case err == nil:
		op.report.Phase = tool.PhaseDone
		op.report.Counts.FilesSealed = op.report.Counts.FilesTotal
	case op.report.Phase != tool.PhaseCancelled:
		op.report.Phase = tool.PhaseFailed
		// What ended it comes before what it met on the way.
		op.report.Errors = slices.Insert(op.report.Errors, 0, err.Error())
		op.report.ErrorCount++
		op.report.NextSteps = o.advise(op.codebase, err)
	}
	op.report.UpdatedAt = o.now().UTC()
	close(op.done)
	o.mu.Unlock()
	o.hub.Notify(op.codebase)
}

// Stop cancels the operation that runs on a codebase and waits for its end. It returns its
// last report; ran is false when none runs.
func (o *Tracker) Stop(ctx context.Context, id store.CodebaseID) (report tool.Operation, ran bool, err error) {
	report, op := o.cancelled(id)
	if op == nil {
		return report, false, nil
	}
	select {
	case <-op.done:
		return report, true, nil
	case <-ctx.Done():
		return report, true, ctx.Err()
	}
}

// cancelled marks the running operation of a codebase and stops it.
func (o *Tracker) cancelled(id store.CodebaseID) (tool.Operation, *operation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	op := o.current[id]
	if op == nil || op.report.Phase.Ended() {
		return tool.Operation{}, nil
	}
	op.report.Phase = tool.PhaseCancelled
	op.report.UpdatedAt = o.now().UTC()
	op.cancel()
	return op.report, op
}

func (o *Tracker) get(id string) (tool.Operation, *operation, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	op, ok := o.byID[id]
	if !ok {
		return tool.Operation{}, nil, false
	}
	return o.reportOf(op), op, true
}

// reportOf completes the report of an operation. The caller holds mu.
func (o *Tracker) reportOf(op *operation) tool.Operation {
	report := op.report
	if c := report.Counts; !report.Phase.Ended() && c.FilesEmbedded < c.FilesTotal {
		report.Waiting = o.waits()
	}
	return report
}

// Running returns the report of the operation that runs on a codebase, or nil.
func (o *Tracker) Running(id store.CodebaseID) *tool.Operation {
	o.mu.Lock()
	defer o.mu.Unlock()
	op := o.current[id]
	if op == nil || op.report.Phase.Ended() {
		return nil
	}
	report := o.reportOf(op)
	return &report
}

// Last returns the report of the newest operation of a codebase, a zero one before it.
func (o *Tracker) Last(id store.CodebaseID) tool.Operation {
	o.mu.Lock()
	defer o.mu.Unlock()
	if op := o.current[id]; op != nil {
		return o.reportOf(op)
	}
	return tool.Operation{}
}

// update changes the report of the operation that runs on a codebase.
func (o *Tracker) update(id store.CodebaseID, change func(op *operation)) {
	o.mu.Lock()
	op := o.current[id]
	if op == nil || op.report.Phase.Ended() {
		o.mu.Unlock()
		return
	}
	change(op)
	op.report.UpdatedAt = o.now().UTC()
	o.mu.Unlock()
	o.hub.Notify(id)
}

// Scanned takes note of a finished scan.
func (o *Tracker) Scanned(id store.CodebaseID, summary scan.Summary, changed int) {
	o.update(id, func(op *operation) {
		op.report.Counts.FilesSeen = summary.Files
		op.report.Counts.FilesSkipped = summary.Skipped()
		op.report.Counts.Bytes = summary.Bytes
	})
}

// Opened takes note of the work of a snapshot.
func (o *Tracker) Opened(snapshot store.Snapshot, files int) {
	o.update(snapshot.Codebase, func(op *operation) {
		op.snapshot, op.made = snapshot.Number, 0
		op.report.Counts.FilesTotal = files
		op.report.Counts.FilesChunked, op.report.Counts.FilesEmbedded = 0, 0
		op.report.Phase = tool.PhaseChunking
	})
}

// resumed takes note of the work of a snapshot that was opened before the operation began.
func (o *Tracker) resumed(snapshot store.Snapshot, pending []store.PendingFile) {
	total := snapshot.Changed
	if snapshot.Rebuild {
		total = snapshot.Files
	}
	toChunk := 0
	for _, p := range pending {
		if p.Stage == store.StageChunk {
			toChunk++
		}
	}
	o.update(snapshot.Codebase, func(op *operation) {
		if op.snapshot == snapshot.Number {
			return
		}
		op.snapshot, op.made = snapshot.Number, 0
		c := &op.report.Counts
		c.FilesTotal = max(total, len(pending))
		c.FilesChunked, c.FilesEmbedded = c.FilesTotal-toChunk, c.FilesTotal-len(pending)
		op.report.Phase = tool.PhaseChunking
	})
}

// Processed takes note of files that a stage finished.
func (o *Tracker) Processed(id store.CodebaseID, snapshot uint64, stage store.Stage, done, reused, units int) {
	o.update(id, func(op *operation) {
		if op.snapshot != snapshot {
			return
		}
		c := &op.report.Counts
		switch stage {
		case store.StageChunk:
			c.FilesChunked = min(c.FilesChunked+done+reused, c.FilesTotal)
			c.Chunks += units
		case store.StageEmbed:
			c.FilesEmbedded = min(c.FilesEmbedded+done+reused, c.FilesTotal)
			c.Embedded += units
			// Work that was given out twice is found in the store the second time.
			op.made += done
			c.Reused = max(min(c.Reused+reused, c.FilesTotal-op.made), 0)
		}
		switch {
		case c.FilesEmbedded == c.FilesTotal:
			op.report.Phase = tool.PhaseSealing
		case c.FilesChunked == c.FilesTotal:
			op.report.Phase = tool.PhaseEmbedding
		}
	})
}

// limited reports whether an error is a provider's that limits the rate of requests.
func limited(err error) bool {
	var refused *remote.Error
	return errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests
}

// maxErrors is how many reasons an operation keeps.
const maxErrors = 5

// Trouble notes an error of a worker with every operation that runs: the workers serve all
// codebases. One that waiting does not mend fails them.
func (o *Tracker) Trouble(err error) {
	o.mu.Lock()
	var touched []store.CodebaseID
	for id, op := range o.current {
		if op.report.Phase.Ended() {
			continue
		}
		touched = append(touched, id)
		if limited(err) {
			continue // the report says that it waits
		}
		op.report.ErrorCount++
		if len(op.report.Errors) < maxErrors {
			op.report.Errors = append(op.report.Errors, err.Error())
		}
		if errors.Is(err, store.ErrDiskFull) || errors.Is(err, store.ErrNewerSchema) || errors.Is(err, store.ErrClosed) || store.IsDamage(err) {
			op.fatal = err
			op.cancel()
		}
	}
	o.mu.Unlock()
	for _, id := range touched {
		o.hub.Notify(id)
	}
}

// adviseFull says what to do about a full disk, to an operation that ended with it.
func adviseFull(err error) error {
	if errors.Is(err, store.ErrDiskFull) {
		return fmt.Errorf("%w; what was done is kept: free some space and run the same command again", err)
	}
	return err
}
