// Package scratch indexes trees beside the live index, in a store that is thrown away
// afterwards, by the same scan, pipeline and recipe as a host: for clean rebuilds that are
// compared, for replays, for a store that is to take the place of a damaged one, and for
// measurements.
package scratch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/history"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/sqlitestore"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/freshness"
)

// Parts are what indexes of one process share. Live and Log may be nil.
type Parts struct {
	// Dir is where the stores are made.
	Dir      string
	Recipe   store.Recipe
	Provider embedding.Querier
	// Live is a store that has vectors already, which are not asked for again; nil has none.
	Live store.Store
	Pool *chunk.Pool
	Log  *slog.Logger
}

// Index is an empty store with a pipeline over it.
type Index struct {
	parts    Parts
	dir      string
	store    *sqlitestore.Store
	bus      *membus.Bus
	pipeline *pipeline.Pipeline
	hub      freshness.Hub
	stop     context.CancelFunc
	work     *errgroup.Group
	workCtx  context.Context //nolint:containedctx // of work, which End ends and waits for
}

// Open opens an index whose work ends with workCtx at the latest.
func Open(ctx, workCtx context.Context, p Parts) (*Index, error) {
	dir, err := datadir.Scratch(p.Dir)
	if err != nil {
		return nil, err
	}
	empty, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{Log: p.Log})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	x, err := Over(ctx, workCtx, p, empty)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return x, nil
}

// Over makes an index in a store, which it closes when it ends or cannot be made.
func Over(ctx, workCtx context.Context, p Parts, over *sqlitestore.Store) (*Index, error) {
	x := &Index{parts: p, dir: over.Dir(), bus: membus.New(), store: over}
	x.pipeline = pipeline.New(pipeline.Parts{
		Store: x.store, Bus: x.bus, Recipe: p.Recipe, Provider: p.provider(x.store), Cutter: p.Pool,
		Quarantine: chunk.Quarantine, Fallback: chunk.Fallback, TextThreshold: -1,
		OnSealed: func(s store.Snapshot) { x.hub.Notify(s.Codebase) }, Log: p.Log,
	})
	var runCtx context.Context
	runCtx, x.stop = context.WithCancel(workCtx)
	x.work, x.workCtx = errgroup.WithContext(runCtx)
	if _, err := x.pipeline.Reconciler.Heal(ctx); err != nil {
		return nil, errors.Join(err, x.End())
	}
	x.work.Go(func() error { return x.pipeline.Run(x.workCtx) })
	return x, nil
}

// Store is what the index is kept in. It is valid until Close or End.
func (x *Index) Store() store.Reader { return x.store }

// Rebuild indexes the root of a codebase under the same id and returns the snapshot.
func (x *Index) Rebuild(ctx context.Context, c store.Codebase) (uint64, error) {
	s, err := x.Synchronizer(ctx, c)
	if err != nil {
		return 0, err
	}
	return x.CatchUp(ctx, c.ID, s)
}

// Synchronizer runs a synchronizer for the root of a codebase under the same id.
func (x *Index) Synchronizer(ctx context.Context, c store.Codebase) (*merklesync.Synchronizer, error) {
	c.Current, c.Latest, c.Failure = 0, 0, ""
	if _, err := x.store.Register(ctx, c); err != nil {
		return nil, err
	}
	s := merklesync.New(x.store, c.ID, merklesync.Options{
		Outbox: x.pipeline.Outbox, Recipe: x.parts.Recipe, Scan: datadir.ScanOptions(x.parts.Dir, x.parts.Log), Log: x.parts.Log,
	})
	x.work.Go(func() error { return s.Run(x.workCtx) })
	return s, nil
}

// CatchUp indexes the tree as it is now and returns the snapshot.
func (x *Index) CatchUp(ctx context.Context, id store.CodebaseID, s *merklesync.Synchronizer) (uint64, error) {
	seen, err := s.Check(ctx)
	if err != nil {
		return 0, err
	}
	return seen.Snapshot, x.settled(ctx, id, seen.Snapshot)
}

// settled waits until a snapshot is sealed full.
func (x *Index) settled(ctx context.Context, id store.CodebaseID, number uint64) error {
	for {
		changed := x.hub.Changed(id)
		snapshot, err := x.store.Snapshot(ctx, id, number)
		if err != nil {
			return fmt.Errorf("snapshot %d: %w", number, err)
		}
		if snapshot.Level == store.LevelFull {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-x.workCtx.Done():
			return x.workCtx.Err()
		}
	}
}

// Target is the index as a replay fills it.
func (x *Index) Target() history.Target {
	return history.Target{
		Store: x.store, Recipe: x.parts.Recipe,
		Publish: x.pipeline.Outbox.Flush, Settled: x.settled,
	}
}

// Close stops the pipeline and removes the store.
func (x *Index) Close() error { return errors.Join(x.End(), os.RemoveAll(x.dir)) }

// End stops the pipeline and closes the store.
func (x *Index) End() error {
	x.stop()
	err := x.work.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, x.bus.Close(), x.store.Close())
}
