package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// purgeTime is how long the right to purge outlives a process that ended amid a purge, and
// purgeAgain the time between tries to be the one who purges.
const (
	purgeTime  = 30 * time.Second
	purgeAgain = 200 * time.Millisecond
)

// Purge removes a codebase's messages below a sequence from the log; 0 removes all. A purge
// is several steps, and what was purged is counted in the stream: of the processes that
// share a log one at a time does it.
func (k *Keeper) Purge(ctx context.Context, id store.CodebaseID, below uint64) error {
	if k.opts.Holder == "" {
		return k.log.Purge(ctx, id, below)
	}
	lease, err := k.purger(ctx)
	if err != nil {
		return fmt.Errorf("purge events of %s: %w", id, err)
	}
	err = k.log.Purge(ctx, id, below)
	return errors.Join(err, k.store.Release(context.WithoutCancel(ctx), lease))
}

// purger waits until this process is the one who purges.
func (k *Keeper) purger(ctx context.Context) (store.Lease, error) {
	ticker := time.NewTicker(purgeAgain)
	defer ticker.Stop()
	for {
		lease, err := k.store.Acquire(ctx, store.PurgeLease, k.opts.Holder, purgeTime)
		if !errors.Is(err, store.ErrHeld) {
			return lease, err
		}
		select {
		case <-ctx.Done():
			return lease, ctx.Err()
		case <-ticker.C:
		}
	}
}

// purgeStrays removes the messages of codebases that were cleared: the last word on them,
// and what workers published that had their events in hand.
func (k *Keeper) purgeStrays(ctx context.Context) error {
	held, err := k.log.MessageCounts(ctx)
	if err != nil {
		return err
	}
	codebases, err := k.store.Codebases(ctx) // asked for after it: its row is there before its events
	if err != nil {
		return err
	}
	delete(held, event.WholeLog)
	for _, c := range codebases {
		delete(held, c.ID)
	}
	for id := range held {
		if err := k.Purge(ctx, id, 0); err != nil {
			return fmt.Errorf("purge events of %s, which was cleared: %w", id, err)
		}
	}
	return nil
}

// Cut lets go of the log behind the oldest retained snapshot of each codebase.
func (k *Keeper) Cut(ctx context.Context) error {
	oldest, err := k.oldest(ctx)
	if err != nil {
		return err
	}
	openings, err := k.openings(ctx, oldest)
	if err != nil {
		return err
	}
	var errs []error
	for id, sequence := range openings {
		if err := k.Purge(ctx, id, sequence); err != nil {
			errs = append(errs, fmt.Errorf("purge the log of %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// oldest returns the number of the oldest retained snapshot of each codebase that has one.
func (k *Keeper) oldest(ctx context.Context) (map[store.CodebaseID]uint64, error) {
	codebases, err := k.store.Codebases(ctx)
	if err != nil {
		return nil, err
	}
	oldest := make(map[store.CodebaseID]uint64, len(codebases))
	for _, c := range codebases {
		snapshots, err := k.store.Snapshots(ctx, c.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("snapshots of %s: %w", c.ID, err)
		}
		if len(snapshots) > 0 {
			oldest[c.ID] = snapshots[len(snapshots)-1].Number
		}
	}
	return oldest, nil
}

var errAll = errors.New("all were found")

// openings finds, in one pass over the log, the message with which each codebase opened the
// given snapshot, or the first later one.
func (k *Keeper) openings(ctx context.Context, oldest map[store.CodebaseID]uint64) (map[store.CodebaseID]uint64, error) {
	found := make(map[store.CodebaseID]uint64, len(oldest))
	err := k.log.Read(ctx, 1, 0, func(m bus.Stored) error {
		number, wanted := oldest[m.Codebase]
		if _, known := found[m.Codebase]; !wanted || known || m.Lane != bus.LaneSync {
			return nil
		}
		e, err := event.Decode(m.Data)
		if err != nil || e.Type != event.SnapshotOpened || e.Snapshot < number {
			return nil //nolint:nilerr // what cannot be read is no opening
		}
		if found[m.Codebase] = m.Sequence; len(found) == len(oldest) {
			return errAll
		}
		return nil
	})
	if err != nil && !errors.Is(err, errAll) {
		return nil, fmt.Errorf("look for openings: %w", err)
	}
	return found, nil
}
