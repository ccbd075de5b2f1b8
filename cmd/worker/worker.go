// Package worker runs stages of the pipeline over a shared event log and a shared store, on
// any host: it sees no tree, keeps no data directory, and any number may run at once. A
// worker acknowledges after its own commit; what it had in hand when it was told to stop
// goes to another at once.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/meter"
	"github.com/freshet/freshet/cmd/recipe"
	mcpserver "github.com/freshet/freshet/mcp"
	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
)

// Options of Run. Cluster and ChunkCommand are required.
type Options struct {
	Cluster cluster.Settings
	// Roles are what this worker does; nil means everything.
	Roles []pipeline.Role
	// Concurrency is how many events of edits each stage has in hand at once, and of large
	// changes twice as many; 0 means 2 for chunk and 1 for embed.
	Concurrency int
	// ChunkCommand starts a parser child.
	ChunkCommand []string
	// Health is the address at which health and counts are served; "" means none. Token is
	// the bearer token that the counts are given for, "" for none. An address that others
	// than this machine reach is refused without one.
	Health, Token string
	// Provider embeds; nil means the built-in model.
	Provider embedding.Provider
	// Drain is how long what is in hand may take when the worker is told to stop; 0 means 8 s.
	Drain time.Duration
	// OpenStore is that of cluster.Options.
	OpenStore func(ctx context.Context) (store.Store, error)
	Log       *slog.Logger // nil means discard
}

// defaultDrain is within the ten seconds that a container has to stop.
const defaultDrain = 8 * time.Second

// reconcileEvery is the time between looks for work that no event speaks of.
const reconcileEvery = 10 * time.Second

// worker is one that runs.
type worker struct {
	opts     Options
	parts    *cluster.Parts
	recipe   store.Recipe
	pool     *chunk.Pool
	meter    *meter.Meter
	standing *meter.Standing
	pipeline *pipeline.Pipeline
	draining atomic.Bool // it takes no more work
}

// Run works until ctx ends, finishes what it has in hand as far as Options.Drain lasts, and
// returns nil then. It calls ready with the address of its health, "" when it has none, once
// it takes work.
func Run(ctx context.Context, o Options, ready func(url string)) (err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Provider == nil {
		o.Provider = builtin.New()
	}
	if o.Drain == 0 {
		o.Drain = defaultDrain
	}
	if o.Health != "" {
		if err := mcpserver.CheckAddress("health", o.Health, o.Token); err != nil {
			return err
		}
	}
	w := &worker{opts: o, recipe: recipe.Of(o.Provider), meter: meter.New()}
	w.parts, err = cluster.Open(ctx, o.Cluster, cluster.Options{Log: o.Log, OpenStore: o.OpenStore})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.parts.Close()) }()
	w.pool, err = chunk.NewPool(chunk.Options{Command: o.ChunkCommand, Children: o.Concurrency, Log: o.Log})
	if err != nil {
		return fmt.Errorf("start parsers: %w", err)
	}
	defer func() { err = errors.Join(err, w.pool.Close()) }()
	if err := w.compare(ctx); err != nil {
		return err
	}
	w.pipeline = pipeline.New(w.meter.Wire(pipeline.Parts{
		Store: w.parts.Store, Bus: w.parts.Bus, Recipe: w.recipe, Provider: o.Provider, Cutter: w.pool,
		Quarantine: chunk.Quarantine, Fallback: chunk.Fallback, Candidates: w.parts.Candidates,
		Roles: o.Roles, Holder: w.parts.Holder, Workers: o.Concurrency, Reconcile: reconcileEvery, Log: o.Log,
	}))
	w.standing = meter.NewStanding(w.parts.Bus, w.parts.Store, w.pipeline.Consumers(), time.Now, o.Log)
	return w.work(ctx, ready)
}

// work runs the stages, and the health beside them.
func (w *worker) work(ctx context.Context, ready func(url string)) error {
	health, err := listen(ctx, w)
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx)) // it outlasts ctx by the draining
	defer stop()
	g, working := errgroup.WithContext(working)
	g.Go(func() error { return w.pipeline.Run(working) })
	g.Go(func() error { return health.serve(working) })
	g.Go(func() error {
		defer stop()
		select {
		case <-working.Done():
			return nil
		case <-ctx.Done():
		}
		w.draining.Store(true)
		patient, cancel := context.WithTimeout(working, w.opts.Drain)
		defer cancel()
		w.pipeline.Drain(patient)
		return nil
	})
	w.opts.Log.Info("worker started", "holder", w.parts.Holder, "roles", w.opts.Roles, "recipe", w.recipe.Fingerprint().Short())
	ready(health.url())
	return g.Wait()
}

// compare warns of codebases whose newest snapshot is of another recipe: their events are
// left to workers that have it.
func (w *worker) compare(ctx context.Context) error {
	codebases, err := w.parts.Store.Codebases(ctx)
	if err != nil {
		return fmt.Errorf("list codebases: %w", err)
	}
	for _, c := range codebases {
		if c.Latest == 0 {
			continue
		}
		latest, err := w.parts.Store.Snapshot(ctx, c.ID, c.Latest)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("newest snapshot of %s: %w", c.ID, err)
		}
		if own := w.recipe.Fingerprint(); latest.Fingerprint != own {
			w.opts.Log.Warn("codebase of another recipe: its work is left to other workers", "codebase", c.ID,
				"recipe", latest.Fingerprint.Short(), "own", own.Short())
		}
	}
	return nil
}
