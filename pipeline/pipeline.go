// Package pipeline wires the stages together over a store and a bus: chunk, embed, apply,
// the outbox and the reconciliation. The same wiring runs a host, a clean rebuild for a
// comparison, and a replay.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/pipeline/apply"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/outbox"
	"github.com/freshet/freshet/pipeline/reconcile"
	"github.com/freshet/freshet/pipeline/stage"
	"github.com/freshet/freshet/store"
)

// Parts are what a pipeline is wired from. All but the last group are required.
type Parts struct {
	Store    store.Store
	Bus      bus.Bus
	Recipe   store.Recipe
	Provider embedding.Provider
	Cutter   stage.Cutter
	// Quarantine and Fallback cut a content without a parser.
	Quarantine, Fallback func(content []byte) store.Syntax

	// Observer is told what the stages did; nil means nobody.
	Observer stage.Observer
	// OnSealed is told of every seal after it is durable; nil means nobody.
	OnSealed func(store.Snapshot)
	// OnTrouble is told of every error of a handler, the ones that are tried again included;
	// nil means nobody. It must not block.
	OnTrouble func(err error)
	// Concurrency is how many files are cut at once; 0 means 4.
	Concurrency int
	// TextThreshold is that of apply.Options.
	TextThreshold int
	// Reconcile is the time between looks for work that no event speaks of; 0 means 30 s.
	Reconcile time.Duration
	Now       func() time.Time // nil means time.Now
	Log       *slog.Logger     // nil means discard
}

// Pipeline is the stages, ready to run.
type Pipeline struct {
	parts      Parts
	Outbox     *outbox.Pump
	Sealer     *apply.Sealer
	Reconciler *reconcile.Reconciler

	chunker  *stage.Chunker
	embedder *stage.Embedder
}

// New wires a pipeline. It starts nothing.
func New(parts Parts) *Pipeline {
	if parts.Reconcile == 0 {
		parts.Reconcile = 30 * time.Second
	}
	if parts.Concurrency == 0 {
		parts.Concurrency = 4
	}
	if parts.Log == nil {
		parts.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pipeline{parts: parts, Outbox: outbox.New(parts.Store, parts.Bus, parts.Log)}
	paths, _ := parts.Provider.(embedding.PathEmbedder)
	p.Sealer = apply.New(parts.Store, apply.Options{
		Outbox: p.Outbox, Recipe: parts.Recipe, Paths: paths, Fallback: parts.Fallback,
		TextThreshold: parts.TextThreshold, OnSealed: parts.OnSealed, Now: parts.Now, Log: parts.Log,
	})
	p.Reconciler = reconcile.New(parts.Store, parts.Bus, p.Outbox, p.Sealer, reconcile.Options{
		Recipe: parts.Recipe, Now: parts.Now, Log: parts.Log,
	})
	deps := stage.Deps{
		Store: parts.Store, Bus: parts.Bus, Outbox: p.Outbox, Recipe: parts.Recipe,
		Now: parts.Now, Log: parts.Log, Observer: parts.Observer,
	}
	p.chunker = stage.NewChunker(deps, stage.ChunkerOptions{
		Cutter: parts.Cutter, Quarantine: parts.Quarantine, Concurrency: parts.Concurrency,
	})
	p.embedder = stage.NewEmbedder(deps, parts.Provider)
	return p
}

// Handlers are the stages as consumers, for those who deliver by themselves.
func (p *Pipeline) Handlers() map[string]bus.Handler {
	return map[string]bus.Handler{
		p.chunker.Consumer(1).Name:  p.chunker.Handle,
		p.embedder.Consumer(1).Name: p.embedder.Handle,
		p.Sealer.Consumer().Name:    p.Sealer.Handle,
	}
}

// Run consumes events and reconciles until ctx ends, and returns nil then. Call
// Reconciler.Heal before it.
func (p *Pipeline) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	consume := func(c bus.Consumer, handle bus.Handler) {
		g.Go(func() error {
			if err := p.parts.Bus.Consume(ctx, c, p.watched(handle)); err != nil {
				return fmt.Errorf("consumer %s: %w", c.Name, err)
			}
			return nil
		})
	}
	consume(p.chunker.Consumer(2), p.chunker.Handle)
	consume(p.embedder.Consumer(1), p.embedder.Handle)
	consume(p.Sealer.Consumer(), p.Sealer.Handle)
	g.Go(func() error { return p.Reconciler.Run(ctx, p.parts.Reconcile) })
	return g.Wait()
}

// watched reports the errors of a handler.
func (p *Pipeline) watched(handle bus.Handler) bus.Handler {
	if p.parts.OnTrouble == nil {
		return handle
	}
	return func(ctx context.Context, d bus.Delivery) error {
		err := handle(ctx, d)
		if err != nil && ctx.Err() == nil && !errors.Is(err, bus.ErrObsolete) {
			p.parts.OnTrouble(err)
		}
		return err
	}
}
