package simulation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/pipeline"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/store/search"
	merklesync "github.com/freshet/freshet/sync"
	"github.com/freshet/freshet/sync/scan"
)

// codebaseID is the one codebase of a world.
const codebaseID store.CodebaseID = "csimulated"

// process is one life of a host: everything that a crash takes away.
type process struct {
	world    *world
	recipe   store.Recipe
	store    *processStore
	pipeline *pipeline.Pipeline
	sync     *merklesync.Synchronizer
	engine   *search.Engine

	cancel context.CancelFunc
	work   *errgroup.Group

	mu         sync.Mutex // guards what follows
	crashed    bool
	crashIn    int // writes until the crash, negative for never
	crashAfter bool
	stillUntil time.Time
}

// lineCutter cuts in this process, by lines.
type lineCutter struct{ world *world }

func (c lineCutter) Cut(ctx context.Context, language string, content []byte) (store.Syntax, error) {
	if err := c.world.pace(ctx, "cut "+language); err != nil {
		return store.Syntax{}, err
	}
	return cut(content), nil
}

// cut gives a content chunks and one definition, so that syntax can be missed.
func cut(content []byte) store.Syntax {
	s := chunk.Fallback(content)
	s.Definitions = []store.Definition{{Name: "whole", Kind: "module", End: uint32(len(content)), StartLine: 1, EndLine: 1, Parent: -1}}
	return s
}

// recipeOf is the n-th recipe.
func recipeOf(n int) store.Recipe {
	return store.Recipe{
		Schema: 1, Tokenizer: "t", Embedding: provider{}.Recipe(), Chunker: fmt.Sprintf("lines-%d", n),
		Grammars: map[string]string{}, IgnoreRules: scan.Version,
	}
}

// newProcess starts a host over a store and a log. It returns errCrashed when the host
// crashed before it ran.
func (w *world) newProcess(ctx context.Context, s *memstore.Store, crashIn int, crashAfter bool) (*process, error) {
	p := &process{world: w, recipe: recipeOf(w.recipe), crashIn: crashIn, crashAfter: crashAfter}
	p.store = &processStore{Store: s, process: p}
	log := &processLog{Bus: w.log, process: p}
	ctx, p.cancel = context.WithCancel(ctx)
	p.pipeline = pipeline.New(pipeline.Parts{
		Store: p.store, Bus: log, Recipe: p.recipe, Provider: provider{w}, Cutter: lineCutter{w},
		Quarantine: chunk.Quarantine, Fallback: cut, TextThreshold: -1, OnSealed: p.sealed,
		Concurrency: 2, Workers: 2, Log: w.slog, Tree: w.tree,
	})
	p.engine = search.New(p.store, provider{w}, search.Options{})
	p.sync = merklesync.New(p.store, codebaseID, merklesync.Options{
		Outbox: p.pipeline.Outbox, Recipe: p.recipe, Log: w.slog,
		Scan: scan.Options{Workers: 1, Now: time.Now, Stamp: w.tree.virtual, Fault: w.tree.fault, Granularity: granularity},
	})
	p.work, ctx = errgroup.WithContext(ctx)
	if err := p.open(ctx); err != nil {
		return p, errors.Join(err, p.end())
	}
	p.work.Go(func() error { return p.pipeline.Run(ctx) })
	p.work.Go(func() error { return p.sync.Run(ctx) })
	return p, nil
}

func (p *process) open(ctx context.Context) error {
	identity, err := scan.Identity(p.world.tree.root)
	if err != nil {
		return err
	}
	c := store.Codebase{ID: codebaseID, Name: "simulated", Root: p.world.tree.root, Identity: identity}
	if _, err := p.store.Register(ctx, c); err != nil {
		return err
	}
	_, err = p.pipeline.Reconciler.Heal(ctx)
	return err
}

// end stops the process and waits for it. What it did is not asked: a crash has no result.
func (p *process) end() error {
	p.die()
	err := p.work.Wait()
	if errors.Is(err, errCrashed) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, p.engine.Close())
}

func (p *process) sealed(snapshot store.Snapshot) {
	p.sync.Sealed(snapshot)
	p.world.notify()
}

// die makes the process a crashed one.
func (p *process) die() {
	p.mu.Lock()
	p.crashed = true
	p.mu.Unlock()
	p.cancel()
	p.world.notify()
}

func (p *process) dead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crashed
}

// arm has the process crash before or after the n-th write from now.
func (p *process) arm(n int, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.crashIn, p.crashAfter = n, after
}

// nextWrite counts a write, and reports whether the process crashes before or after it.
func (p *process) nextWrite() (before, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.crashIn < 0 {
		return false, false
	}
	p.crashIn--
	now := p.crashIn < 0
	return now && !p.crashAfter, now && p.crashAfter
}

// suspend has the process stand still for a time.
func (p *process) suspend(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stillUntil = time.Now().Add(d)
}

// standStill waits while the process is suspended.
func (p *process) standStill(ctx context.Context) error {
	for {
		p.mu.Lock()
		left := time.Until(p.stillUntil)
		p.mu.Unlock()
		if left <= 0 {
			return nil
		}
		if err := bus.Pause(ctx, min(left, 100*time.Millisecond)); err != nil {
			return err
		}
	}
}
