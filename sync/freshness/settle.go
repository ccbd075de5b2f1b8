package freshness

import (
	"context"
	"fmt"

	"github.com/freshet/freshet/store"
	merklesync "github.com/freshet/freshet/sync"
)

// Settler waits for seals. Its fields are required.
type Settler struct {
	Store store.SnapshotReader
	Hub   *Hub
	// Damage tells how often a worker met damage of the store, and the last of it.
	Damage func() (met int, last error)
}

// Settle waits until the newest snapshot of a codebase is sealed full with the tree that a
// check saw, checking again when more changed meanwhile, and returns what the last check
// saw. Damage that a worker meets meanwhile ends it with that error: no seal comes of waiting.
func (w Settler) Settle(ctx context.Context, id store.CodebaseID, s Synchronizer, seen merklesync.Observation) (merklesync.Observation, error) {
	before, _ := w.Damage()
	for {
		changed := w.Hub.Changed(id)
		codebase, err := w.Store.Codebase(ctx, id)
		if err != nil {
			return seen, fmt.Errorf("settle %s: %w", id, err)
		}
		latest, err := w.Store.Snapshot(ctx, id, codebase.Latest)
		if err != nil {
			return seen, fmt.Errorf("settle %s: %w", id, err)
		}
		if latest.Abandoned {
			return seen, context.Canceled
		}
		if latest.Level == store.LevelFull {
			if latest.Root == seen.Root {
				return seen, nil
			}
			if seen, err = s.Check(ctx); err != nil {
				return seen, err
			}
			continue
		}
		if met, last := w.Damage(); met != before {
			return seen, last
		}
		select {
		case <-ctx.Done():
			return seen, ctx.Err()
		case <-changed:
		}
	}
}
