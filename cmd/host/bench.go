package host

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

// kit is what benches share: the parsers, the provider and the recipe.
type kit struct {
	home     string // where stores are made that are thrown away
	recipe   store.Recipe
	provider embedding.Querier
	live     store.Store // has vectors already; nil has none
	pool     *chunk.Pool
	log      *slog.Logger
}

// bench is an empty store with a pipeline over it, beside the live one, for rebuilds that
// are compared and thrown away.
type bench struct {
	kit
	dir      string
	store    *sqlitestore.Store
	bus      *membus.Bus
	pipeline *pipeline.Pipeline
	hub      *freshness.Hub
	stop     context.CancelFunc
	work     *errgroup.Group
	workCtx  context.Context //nolint:containedctx // of work, which close ends and waits for
}

// openBench opens a bench whose work ends with workCtx at the latest.
func openBench(ctx, workCtx context.Context, k kit) (*bench, error) {
	dir, err := datadir.Scratch(k.home)
	if err != nil {
		return nil, err
	}
	empty, err := sqlitestore.Open(ctx, dir, sqlitestore.Options{Log: k.log})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	b, err := benchOver(ctx, workCtx, k, empty)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

// benchOver makes a bench over a store, which it closes when it ends or cannot be made.
func benchOver(ctx, workCtx context.Context, k kit, over *sqlitestore.Store) (*bench, error) {
	b := &bench{kit: k, dir: over.Dir(), hub: &freshness.Hub{}, bus: membus.New(), store: over}
	b.pipeline = pipeline.New(pipeline.Parts{
		Store: b.store, Bus: b.bus, Recipe: k.recipe, Provider: k.thrifty(b.store), Cutter: k.pool,
		Quarantine: chunk.Quarantine, Fallback: chunk.Fallback, TextThreshold: -1,
		OnSealed: func(s store.Snapshot) { b.hub.Notify(s.Codebase) }, Log: k.log,
	})
	var runCtx context.Context
	runCtx, b.stop = context.WithCancel(workCtx)
	b.work, b.workCtx = errgroup.WithContext(runCtx)
	if _, err := b.pipeline.Reconciler.Heal(ctx); err != nil {
		return nil, errors.Join(err, b.end())
	}
	b.work.Go(func() error { return b.pipeline.Run(b.workCtx) })
	return b, nil
}

// rebuild indexes the root of a codebase under the same id and returns the snapshot.
func (b *bench) rebuild(ctx context.Context, c store.Codebase) (uint64, error) {
	s, err := b.synchronizer(ctx, c)
	if err != nil {
		return 0, err
	}
	return b.catchUp(ctx, c.ID, s)
}

// synchronizer runs a synchronizer for the root of a codebase under the same id.
func (b *bench) synchronizer(ctx context.Context, c store.Codebase) (*merklesync.Synchronizer, error) {
	c.Current, c.Latest, c.Failure = 0, 0, ""
	if _, err := b.store.Register(ctx, c); err != nil {
		return nil, err
	}
	s := merklesync.New(b.store, c.ID, merklesync.Options{
		Outbox: b.pipeline.Outbox, Recipe: b.recipe, Scan: datadir.ScanOptions(b.home, b.log), Log: b.log,
	})
	b.work.Go(func() error { return s.Run(b.workCtx) })
	return s, nil
}

// catchUp indexes the tree as it is now and returns the snapshot.
func (b *bench) catchUp(ctx context.Context, id store.CodebaseID, s *merklesync.Synchronizer) (uint64, error) {
	seen, err := s.Check(ctx)
	if err != nil {
		return 0, err
	}
	return seen.Snapshot, b.settled(ctx, id, seen.Snapshot)
}

// settled waits until a snapshot is sealed full.
func (b *bench) settled(ctx context.Context, id store.CodebaseID, number uint64) error {
	for {
		changed := b.hub.Changed(id)
		snapshot, err := b.store.Snapshot(ctx, id, number)
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
		case <-b.workCtx.Done():
			return b.workCtx.Err()
		}
	}
}

// target is the bench as a replay fills it.
func (b *bench) target() history.Target {
	return history.Target{
		Store: b.store, Recipe: b.recipe,
		Publish: b.pipeline.Outbox.Flush, Settled: b.settled,
	}
}

// close stops the pipeline and removes the store.
func (b *bench) close() error { return errors.Join(b.end(), os.RemoveAll(b.dir)) }

// end stops the pipeline and closes the store.
func (b *bench) end() error {
	b.stop()
	err := b.work.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, b.bus.Close(), b.store.Close())
}
