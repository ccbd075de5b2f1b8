package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// purgeTime is how long the right to purge outlives a process that ended amid a purge.
const purgeTime = 30 * time.Second

// purgeAgain is the time between tries to be the one who purges.
const purgeAgain = 200 * time.Millisecond

// purge removes a codebase's messages below a sequence from the log; 0 removes all. A purge
// is several steps, and what was purged is counted in the stream: of the processes that
// share a log one at a time does it.
func (h *Host) purge(ctx context.Context, id store.CodebaseID, below uint64) error {
	if !h.shared() {
		return h.bus.Purge(ctx, id, below)
	}
	lease, err := h.purger(ctx)
	if err != nil {
		return fmt.Errorf("purge events of %s: %w", id, err)
	}
	err = h.bus.Purge(ctx, id, below)
	return errors.Join(err, h.store.Release(context.WithoutCancel(ctx), lease))
}

// purger waits until this process is the one who purges.
func (h *Host) purger(ctx context.Context) (store.Lease, error) {
	ticker := time.NewTicker(purgeAgain)
	defer ticker.Stop()
	for {
		lease, err := h.store.Acquire(ctx, store.PurgeLease, h.holder, purgeTime)
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
func (h *Host) purgeStrays(ctx context.Context) error {
	held, err := h.bus.Held(ctx)
	if err != nil {
		return err
	}
	codebases, err := h.store.Codebases(ctx) // asked for after it: its row is there before its events
	if err != nil {
		return err
	}
	delete(held, event.WholeLog)
	for _, c := range codebases {
		delete(held, c.ID)
	}
	for id := range held {
		if err := h.purge(ctx, id, 0); err != nil {
			return fmt.Errorf("purge events of %s, which was cleared: %w", id, err)
		}
	}
	return nil
}
