package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	merklesync "github.com/freshet/freshet/sync"
)

// checker proves freshness for reads.
type checker struct{ *Host }

// Check compares the tree with the served snapshot and catches up as far as the options
// allow.
func (c checker) Check(ctx context.Context, id store.CodebaseID, o tool.CheckOptions) (tool.Reading, error) {
	if o.At != 0 {
		return c.retained(ctx, id, o.At)
	}
	if o.Mode == tool.ModeEventual {
		return c.reading(ctx, id, search.Verdict{State: search.Unchecked})
	}
	started := c.opts.Now()
	verdict := search.Verdict{CheckedAt: started.UTC()}
	synchronizer, err := c.follow(id)
	if err != nil {
		return tool.Reading{}, err
	}
	checking, cancel := patience(ctx, synchronizer, o.MaxWait)
	defer cancel()
	if c.away() != nil { // a tree that changed cannot be looked at to the end
		checking, cancel = context.WithTimeout(checking, max(o.MaxWait, leastPatience))
		defer cancel()
	}
	seen, err := synchronizer.Check(checking)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, merklesync.ErrEnded) {
			return tool.Reading{}, err
		}
		verdict.State, verdict.Reason = search.Unknown, advice.Root(id, err).Error()
		if c.away() != nil && errors.Is(err, context.DeadlineExceeded) {
			verdict.Reason = "the tree changed, and cannot be compared while the store is away"
		}
		verdict.CheckTook = c.opts.Now().Sub(started)
		return c.reading(ctx, id, verdict)
	}
	verdict.CheckTook = c.opts.Now().Sub(started)
	verdict.Ignored = seen.Summary.LeftOut[store.LeftOutIgnored]
	if verdict.State, err = c.catchUp(ctx, id, seen, o); err != nil {
		return tool.Reading{}, err
	}
	if verdict.State == search.Behind {
		verdict.Pending, verdict.PendingCount = seen.Changes, seen.ChangeCount
		verdict.Reason = "these changes are not searchable yet"
		if back, err := c.rolledBack(ctx, id); err != nil {
			return tool.Reading{}, err
		} else if back {
			verdict.Reason = "an older snapshot is served since a rollback; `freshet sync` serves the tree again"
		}
	}
	if seen.KeptCount > 0 {
		verdict = withKept(verdict, seen)
	}
	if o.MinToken != nil && (o.MinToken.Epoch != c.reads.Epoch() || o.MinToken.Codebase != id) {
		verdict.State, verdict.Reason = search.Unknown, "the token was given by another index"
	}
	reading, err := c.reading(ctx, id, verdict)
	proven := verdict.State == search.Current || verdict.State == search.CaughtUp
	if err == nil && proven && len(reading.Verdict.Requires) == 0 && c.away() == nil {
		err = runner(c).note(ctx, id, nil) // whatever failed before is made good
	}
	return reading, err
}

// withKept makes a verdict behind for files that could not be read and are served as they
// were read last.
func withKept(v search.Verdict, seen merklesync.Observation) search.Verdict {
	reason := fmt.Sprintf("%d paths cannot be read, or change while they are read, and are served as they were last read", seen.KeptCount)
	if v.State == search.Behind {
		reason = v.Reason + "; " + reason
	}
	v.State, v.Reason, v.Kept = search.Behind, reason, seen.Kept
	v.Pending = append(v.Pending[:len(v.Pending):len(v.Pending)], seen.Kept...)
	v.Pending, v.PendingCount = v.Pending[:min(len(v.Pending), merklesync.MaxNamed)], v.PendingCount+seen.KeptCount
	return v
}

// catchUp waits until the served snapshot has the tree that the check saw, and is no older
// than the token asked for.
func (c checker) catchUp(ctx context.Context, id store.CodebaseID, seen merklesync.Observation, o tool.CheckOptions) (search.Freshness, error) {
	state := search.Current
	timer := time.NewTimer(max(o.MaxWait, 0))
	defer timer.Stop()
	patience := time.NewTimer(o.MaxWait / 2)
	defer patience.Stop()
	for {
		changed := c.hub.changed(id)
		served, err := c.served(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNoSnapshot) {
			return "", err
		}
		tokenMet := o.MinToken == nil || o.MinToken.Codebase != id || o.MinToken.Snapshot <= served.Number
		if err == nil && served.Root == seen.Root && tokenMet {
			return state, nil
		}
		if o.MaxWait < 0 {
			return search.Behind, nil
		}
		if back, err := c.rolledBack(ctx, id); err != nil || back {
			return search.Behind, err
		}
		state = search.CaughtUp
		c.pipeline.Sealer.Want(id)
		select {
		case <-changed:
		case <-patience.C:
			if err := c.sealWords(ctx, id); err != nil {
				return "", err
			}
		case <-timer.C:
			return search.Behind, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// sealWords makes changes searchable by their words while an embedding provider over a
// network keeps a reader waiting. Where others seal too, it is theirs to do.
func (h *Host) sealWords(ctx context.Context, id store.CodebaseID) error {
	if _, local := h.provider.(embedding.PathEmbedder); local || h.shared() {
		return nil
	}
	return h.pipeline.Sealer.SealWords(ctx, id)
}

// rolledBack reports whether an older snapshot is served although the newest is sealed.
func (h *Host) rolledBack(ctx context.Context, id store.CodebaseID) (bool, error) {
	codebase, err := h.reads.Codebase(ctx, id)
	if err != nil || codebase.Current == 0 || codebase.Current == codebase.Latest {
		return false, err
	}
	latest, err := h.reads.Snapshot(ctx, id, codebase.Latest)
	return latest.Level == store.LevelFull, err
}

// served returns the snapshot that is current, or ErrNoSnapshot.
func (h *Host) served(ctx context.Context, id store.CodebaseID) (store.Snapshot, error) {
	codebase, err := h.reads.Codebase(ctx, id)
	if err != nil {
		return store.Snapshot{}, fmt.Errorf("codebase %s: %w", id, err)
	}
	if codebase.Current == 0 {
		return store.Snapshot{}, store.ErrNoSnapshot
	}
	return h.reads.Snapshot(ctx, id, codebase.Current)
}

// reading completes a verdict with what is served.
func (h *Host) reading(ctx context.Context, id store.CodebaseID, verdict search.Verdict) (tool.Reading, error) {
	r := tool.Reading{Verdict: verdict, Running: h.ops.running(id)}
	served, err := h.served(ctx, id)
	r.Verdict.Warnings = append(append(h.noticed(id), h.tellReset(id)...), h.away()...)
	if verdict.State == search.Behind {
		r.Verdict.Warnings = append(append(r.Verdict.Warnings, h.unpublished()...), h.limits()...)
	}
	if errors.Is(err, store.ErrNoSnapshot) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	return h.readingOf(ctx, served, r)
}

// retained reads a snapshot that was asked for by its number.
func (h *Host) retained(ctx context.Context, id store.CodebaseID, number uint64) (tool.Reading, error) {
	snapshot, err := h.reads.Snapshot(ctx, id, number)
	if err != nil {
		return tool.Reading{}, fmt.Errorf("snapshot %d: %w", number, err)
	}
	verdict := search.Verdict{State: search.Unchecked, Reason: fmt.Sprintf("snapshot %d was asked for", number)}
	return h.readingOf(ctx, snapshot, tool.Reading{Verdict: verdict, Running: h.ops.running(id)})
}

// readingOf completes a reading with a sealed snapshot.
func (h *Host) readingOf(ctx context.Context, served store.Snapshot, r tool.Reading) (tool.Reading, error) {
	id := served.Codebase
	view, err := h.reads.View(ctx, id, served.Number)
	if err != nil {
		return r, fmt.Errorf("view of snapshot %d: %w", served.Number, err)
	}
	indexed, err := h.reads.Recipe(ctx, served.Fingerprint)
	if err != nil {
		return r, fmt.Errorf("recipe of snapshot %d: %w", served.Number, err)
	}
	position, err := h.reads.LogPosition(ctx)
	if err != nil {
		return r, err
	}
	failures, err := h.reads.Failures(ctx, id)
	if err != nil {
		return r, err
	}
	v := &r.Verdict
	v.Root, v.Snapshot, v.Level, v.Fingerprint = served.Root, served.Number, served.Level, served.Fingerprint
	v.Token = search.Token{Epoch: h.reads.Epoch(), Codebase: id, Snapshot: served.Number, Root: served.Root}
	v.Sequence = position.Sequence
	v.Requires = indexed.Diff(h.recipe)
	for _, f := range failures {
		if f.Parked {
			v.Parked++
		}
	}
	r.View = &view
	r.CanEmbed = indexed.Embedding == h.recipe.Embedding
	return r, nil
}
