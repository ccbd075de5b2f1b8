package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/freshet/freshet/store"
)

// CandidateIndex is a store that can index a sealed snapshot, so as to propose candidates
// of it to readers; pgstore.Store is one. It decides which snapshots are worth it, returns
// soon for one that it has, and may take minutes for one that is large and new.
type CandidateIndex interface {
	IndexCandidates(ctx context.Context, id store.CodebaseID, number uint64) error
}

// candidates has what is sealed indexed, beside the sealing and never in its way: until a
// snapshot is indexed, readers compare all of it, and their answers are the same. What
// fails is logged and tried again with the next seal and the next look.
type candidates struct {
	index       CandidateIndex
	store       store.Reader
	fingerprint store.Fingerprint
	log         *slog.Logger

	wake   chan struct{} // of one: something is in sealed
	mu     sync.Mutex    // guards sealed
	sealed map[store.CodebaseID]uint64
}

func newCandidates(index CandidateIndex, s store.Reader, fingerprint store.Fingerprint, log *slog.Logger) *candidates {
	return &candidates{
		index: index, store: s, fingerprint: fingerprint, log: log,
		wake: make(chan struct{}, 1), sealed: map[store.CodebaseID]uint64{},
	}
}

// notice is told of every seal, and does not block.
func (c *candidates) notice(snapshot store.Snapshot) {
	if snapshot.Level != store.LevelFull {
		return
	}
	c.mu.Lock()
	c.sealed[snapshot.Codebase] = snapshot.Number
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// take returns the seals since it was last called, the newest of each codebase.
func (c *candidates) take() map[store.CodebaseID]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	sealed := c.sealed
	c.sealed = map[store.CodebaseID]uint64{}
	return sealed
}

// run indexes what is sealed, and now and then whatever is current: a process may have
// ended before it had indexed what it sealed, and another may have merged segments. It
// ends with ctx, and returns nil then.
func (c *candidates) run(ctx context.Context, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	due, err := c.current(ctx)
	for {
		if err = errors.Join(err, c.indexAll(ctx, due)); err != nil && ctx.Err() == nil {
			c.log.Warn("candidates not indexed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
			due, err = c.take(), nil
		case <-ticker.C:
			due, err = c.current(ctx)
		}
	}
}

// current is the full snapshots of the recipe that are current.
func (c *candidates) current(ctx context.Context) (map[store.CodebaseID]uint64, error) {
	codebases, err := c.store.Codebases(ctx)
	if err != nil {
		return nil, fmt.Errorf("list codebases: %w", err)
	}
	current := map[store.CodebaseID]uint64{}
	var errs []error
	for _, b := range codebases {
		if b.Current == 0 {
			continue
		}
		snapshot, err := c.store.Snapshot(ctx, b.ID, b.Current)
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			errs = append(errs, fmt.Errorf("snapshot %d of %s: %w", b.Current, b.ID, err))
		case err == nil && snapshot.Level == store.LevelFull && snapshot.Fingerprint == c.fingerprint:
			current[b.ID] = b.Current
		}
	}
	return current, errors.Join(errs...)
}

func (c *candidates) indexAll(ctx context.Context, due map[store.CodebaseID]uint64) error {
	var errs []error
	for id, number := range due {
		err := c.index.IndexCandidates(ctx, id, number)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrNoSnapshot) { // cleared or collected meanwhile
			errs = append(errs, fmt.Errorf("snapshot %d of %s: %w", number, id, err))
		}
	}
	return errors.Join(errs...)
}
