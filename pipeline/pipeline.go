// Package pipeline wires the stages together over a store and a bus: chunk, embed, apply,
// the outbox and the reconciliation. The same wiring runs a host, a clean rebuild for a
// comparison, and a replay.
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/pipeline/apply"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/outbox"
	"github.com/freshet/freshet/pipeline/reconcile"
	"github.com/freshet/freshet/pipeline/stage"
	"github.com/freshet/freshet/pipeline/upkeep"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/leasekeeper"
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

	// Tree reads damaged contents again; nil where the files of codebases are not at hand.
	Tree stage.Tree
	// Observer is told what the stages did; nil means nobody.
	Observer stage.Observer
	// OnSealed is told of every seal after it is durable; nil means nobody.
	OnSealed func(store.Snapshot)
	// OnWritten is that of apply.Options; nil means nobody.
	OnWritten func(bytes, again int64)
	// Candidates is told to index what was sealed, by the process that seals; nil means that
	// the store proposes no candidates.
	Candidates CandidateIndex
	// OnTrouble is told of every error of a handler, the ones that are tried again included;
	// nil means nobody. It must not block.
	OnTrouble func(err error)
	// OnHealed is that of reconcile.Options.
	OnHealed func(reason string)
	// Roles are what this process does; nil means everything.
	Roles []Role
	// Holder is set where other processes share the work: it names this one. Of those with
	// RoleApply one at a time seals the snapshots of a recipe, and one keeps store and log. The
	// consumers are those of the recipe: no process takes the work of another one.
	Holder string
	// Concurrency is how many files of an event are cut at once; 0 means 4.
	Concurrency int
	// Workers is how many events of edits the chunk and embed stages have in hand at once; 0
	// means 2 and 1. Of large changes it is twice as many.
	Workers int
	// TextThreshold is that of apply.Options.
	TextThreshold int
	// Reconcile is the time between looks for work that no event speaks of; 0 means 30 s.
	Reconcile time.Duration
	// CompactEvery and TidyEvery are those of upkeep.Options.
	CompactEvery, TidyEvery time.Duration
	Now                     func() time.Time // nil means time.Now
	Log                     *slog.Logger     // nil means discard
}

// Pipeline is the stages, ready to run.
type Pipeline struct {
	parts      Parts
	Outbox     *outbox.Pump
	Sealer     *apply.Sealer
	Reconciler *reconcile.Reconciler
	Keeper     *upkeep.Keeper

	chunker    *stage.Chunker
	embedder   *stage.Embedder
	candidates *candidates // nil for none

	mu        sync.Mutex // guards draining and what joins consuming
	draining  bool
	drain     chan struct{} // closed when draining
	consuming sync.WaitGroup
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
	p := &Pipeline{parts: parts, drain: make(chan struct{}), Outbox: outbox.New(parts.Store, parts.Bus, parts.Log)}
	if parts.Holder != "" {
		p.Outbox.Share()
	}
	onSealed := parts.OnSealed
	if parts.Candidates != nil {
		p.candidates = newCandidates(parts.Candidates, parts.Store, parts.Recipe.Fingerprint(), parts.Log)
		onSealed = func(snapshot store.Snapshot) {
			p.candidates.notice(snapshot)
			if parts.OnSealed != nil {
				parts.OnSealed(snapshot)
			}
		}
	}
	paths, _ := parts.Provider.(embedding.PathEmbedder)
	p.Sealer = apply.New(parts.Store, apply.Options{
		Outbox: p.Outbox, Recipe: parts.Recipe, Paths: paths, Fallback: parts.Fallback,
		TextThreshold: parts.TextThreshold, OnSealed: onSealed, OnWritten: parts.OnWritten, Now: parts.Now, Log: parts.Log,
	})
	p.Reconciler = reconcile.New(parts.Store, parts.Bus, p.Outbox, p.Sealer, reconcile.Options{
		Recipe: parts.Recipe, Shared: parts.Holder != "", Consumers: p.consumerNames, OnHealed: parts.OnHealed, Now: parts.Now, Log: parts.Log,
	})
	p.Keeper = upkeep.New(parts.Store, parts.Bus, p.Sealer, upkeep.Options{
		Holder: parts.Holder, CompactEvery: parts.CompactEvery, TidyEvery: parts.TidyEvery, Now: parts.Now, Log: parts.Log,
	})
	deps := stage.Deps{
		Store: parts.Store, Bus: parts.Bus, Outbox: p.Outbox, Recipe: parts.Recipe, Tree: parts.Tree,
		Shared: parts.Holder != "", Now: parts.Now, Log: parts.Log, Observer: parts.Observer,
	}
	p.chunker = stage.NewChunker(deps, stage.ChunkerOptions{
		Cutter: parts.Cutter, Quarantine: parts.Quarantine, Concurrency: parts.Concurrency,
	})
	p.embedder = stage.NewEmbedder(deps, parts.Provider)
	return p
}

// Handlers are the stages by their roles, for those who deliver by themselves.
func (p *Pipeline) Handlers() map[string]bus.Handler {
	return map[string]bus.Handler{
		string(RoleChunk): p.chunker.Handle,
		string(RoleEmbed): p.embedder.Handle,
		string(RoleApply): p.Sealer.Handle,
	}
}

// Run consumes events and reconciles until ctx ends, and returns nil then. Call
// Reconciler.Heal before it, unless Parts.Holder is set.
func (p *Pipeline) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range p.stages() {
		for _, c := range s.consumers {
			if p.has(s.role) {
				g.Go(func() error { return p.consume(ctx, c, s.handle) })
			}
		}
	}
	if p.has(RoleApply) {
		g.Go(func() error { return p.lead(ctx) })
	}
	return g.Wait()
}

// stageOf is a stage that any number of processes run at once.
type stageOf struct {
	role      Role
	consumers []bus.Consumer
	handle    bus.Handler
}

func (p *Pipeline) stages() []stageOf {
	return []stageOf{
		{RoleChunk, p.chunker.Consumers(cmp.Or(p.parts.Workers, 2)), p.chunker.Handle},
		{RoleEmbed, p.embedder.Consumers(cmp.Or(p.parts.Workers, 1)), p.embedder.Handle},
	}
}

// consumerNames are the durable consumers that the work of the recipe needs.
func (p *Pipeline) consumerNames() []string {
	names := []string{p.named(p.Sealer.Consumer()).Name}
	for _, s := range p.stages() {
		for _, c := range s.consumers {
			names = append(names, p.named(c).Name)
		}
	}
	return names
}

// named gives a consumer the name that it has among processes of several recipes.
func (p *Pipeline) named(c bus.Consumer) bus.Consumer {
	if p.parts.Holder != "" {
		c.Name += "-" + p.parts.Recipe.Fingerprint().Short()
	}
	return c
}

func (p *Pipeline) has(r Role) bool { return p.parts.Roles == nil || slices.Contains(p.parts.Roles, r) }

func (p *Pipeline) consume(ctx context.Context, c bus.Consumer, handle bus.Handler) error {
	p.mu.Lock()
	if p.draining {
		p.mu.Unlock()
		return nil
	}
	p.consuming.Add(1)
	p.mu.Unlock()
	defer p.consuming.Done()
	c = p.named(c)
	c.Stop = p.drain
	if err := p.parts.Bus.Consume(ctx, c, p.watched(handle)); err != nil {
		return fmt.Errorf("consumer %s: %w", c.Name, err)
	}
	return nil
}

// Drain has the stages take no more events, and waits until those in hand are done or ctx
// ends. What is in hand when Run ends is given back.
func (p *Pipeline) Drain(ctx context.Context) {
	p.mu.Lock()
	if !p.draining {
		p.draining = true
		close(p.drain)
	}
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the consumers, at the latest when Run ends
		p.consuming.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// healEvery is the time between questions whether the log of this process is damaged, which
// cost nothing while nothing speaks for it.
const healEvery = time.Second

// lead applies: alone, or while no other process that shares the work does.
func (p *Pipeline) lead(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	if p.parts.Holder == "" {
		g.Go(func() error { return p.apply(ctx) })
		g.Go(func() error { return p.Keeper.Run(ctx) })
		g.Go(func() error { return p.Reconciler.Keep(ctx, healEvery) })
		return g.Wait()
	}
	under := func(name string, work func(ctx context.Context) error) {
		o := leasekeeper.Options{Name: name, Holder: p.parts.Holder, Log: p.parts.Log}
		g.Go(func() error { return leasekeeper.Keep(ctx, p.parts.Store, o, work) })
	}
	under(store.KeepLease, p.keep)
	under(store.ApplyLease(p.parts.Recipe.Fingerprint()), func(ctx context.Context) error {
		p.Sealer.Forget()
		return p.apply(ctx)
	})
	return g.Wait()
}

// keep keeps store and log.
func (p *Pipeline) keep(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.Reconciler.Keep(ctx, p.parts.Reconcile) })
	g.Go(func() error { return p.Keeper.Run(ctx) })
	return g.Wait()
}

func (p *Pipeline) apply(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.consume(ctx, p.Sealer.Consumer(), p.Sealer.Handle) })
	g.Go(func() error { return p.Reconciler.Run(ctx, p.parts.Reconcile) })
	g.Go(func() error { return p.Sealer.Run(ctx) })
	if p.candidates != nil {
		g.Go(func() error { return p.candidates.run(ctx, p.parts.Reconcile) })
	}
	return g.Wait()
}

// watched reports the errors of a handler.
func (p *Pipeline) watched(handle bus.Handler) bus.Handler {
	if p.parts.OnTrouble == nil {
		return handle
	}
	return func(ctx context.Context, d bus.Delivery) error {
		err := handle(ctx, d)
		if err != nil && ctx.Err() == nil && !errors.Is(err, bus.ErrObsolete) && !errors.Is(err, stage.ErrSlowBusy) {
			p.parts.OnTrouble(err)
		}
		return err
	}
}
