package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
)

// Cutter turns a content into its syntax; chunk.Pool is one. When the content itself
// crashed its parser or took more than its steps, the error is a *chunk.ChildDied.
type Cutter interface {
	Cut(ctx context.Context, language string, content []byte) (store.Syntax, error)
}

// Trier is a Cutter that knows what an ordinary content takes: Try cuts as Cut does, and
// returns chunk.ErrSlow for a content that takes more. chunk.Pool is one.
type Trier interface {
	Try(ctx context.Context, language string, content []byte) (store.Syntax, error)
}

// ChunkerOptions are what a Chunker needs beside Deps.
type ChunkerOptions struct {
	Cutter Cutter
	// Quarantine cuts a poisonous content without a parser.
	Quarantine func(content []byte) store.Syntax
	// Concurrency is the most files of one event cut at once, 0 means 1.
	Concurrency int
}

// Chunker is the chunk stage.
type Chunker struct {
	core
	opts ChunkerOptions
	slow chan struct{} // has room for the postponed events that may be in hand
}

// maxSlow is the most postponed events in hand at once: fewer than the workers of large
// changes, so that these go on.
const maxSlow = 2

// NewChunker returns a chunk stage.
func NewChunker(deps Deps, opts ChunkerOptions) *Chunker {
	if opts.Concurrency == 0 {
		opts.Concurrency = 1
	}
	return &Chunker{core: newCore(deps, store.StageChunk), opts: opts, slow: make(chan struct{}, maxSlow)}
}

// Consumers are the durable consumers whose deliveries Handle takes: one for edits and one
// for large changes, each with its own workers: the latter twice as many.
func (c *Chunker) Consumers(workers int) []bus.Consumer {
	return []bus.Consumer{
		{Name: "chunk", Lanes: []bus.Lane{bus.LaneSync}, Workers: workers},
		{Name: "chunk-bulk", Lanes: []bus.Lane{bus.LaneBulk}, Workers: 2 * workers},
	}
}

// Handle processes one event. Files whose syntax the store has are passed on untouched. Those
// that take long or failed are postponed: they delay themselves only.
func (c *Chunker) Handle(ctx context.Context, d bus.Delivery) error {
	e, err := c.admit(ctx, d)
	if err != nil {
		return err
	}
	if e.Type != event.FilesChanged {
		return nil
	}
	if e.Changed.Slow {
		select {
		case c.slow <- struct{}{}:
			defer func() { <-c.slow }()
		default:
			return &bus.Retry{After: slowDelay, Err: ErrSlowBusy}
		}
	}
	files := e.Changed.Files
	release, err := c.claims.take(ctx, e.Codebase, files)
	if err != nil {
		return err
	}
	defer release()
	missing, err := c.missing(ctx, e.Codebase, files)
	if err != nil {
		return err
	}
	made, err := c.cut(ctx, e, missing)
	if err != nil {
		return err
	}
	again, err := c.count(ctx, e, made.faults)
	if err != nil {
		return err
	}
	if e.Changed.Slow && again.retry != nil {
		return again.retry
	}
	late := slices.Concat(made.slow, again.files)
	ready, err := c.postpone(ctx, e, late)
	if err != nil || len(ready) == 0 {
		return err
	}
	next := event.Chunked(e, ready, c.Now())
	done := len(missing) - len(c.byKey(late))
	next.Processed.Reused, next.Processed.Units = len(ready)-done, made.chunks
	if err := c.follow(ctx, next); err != nil {
		return err
	}
	c.report(e, done, len(ready)-done, made.chunks)
	return nil
}

// missing returns the files without syntax, one for each key, less those that are parked.
func (c *Chunker) missing(ctx context.Context, id store.CodebaseID, files []event.File) ([]event.File, error) {
	keys := make([]store.SyntaxKey, len(files))
	for i, f := range files {
		keys[i] = c.key(f)
	}
	have, err := c.Store.HasSyntax(ctx, keys)
	if err != nil {
		return nil, outage(err)
	}
	if len(have) == len(files) {
		return nil, nil
	}
	parked, err := c.parkedSet(ctx, id)
	if err != nil {
		return nil, err
	}
	var missing []event.File
	seen := map[store.SyntaxKey]bool{}
	for i, f := range files {
		if have[keys[i]] || seen[keys[i]] || parked[parkedKey{f.Path, f.Content, keys[i].Version}] {
			continue
		}
		seen[keys[i]] = true
		missing = append(missing, f)
	}
	return missing, nil
}

// cuts is what became of the missing files of an event.
type cuts struct {
	faults []fault
	slow   []event.File
	chunks int
}

// cut parses files and stores their syntaxes in one transaction.
func (c *Chunker) cut(ctx context.Context, e event.Event, files []event.File) (made cuts, err error) {
	if len(files) == 0 {
		return made, nil
	}
	parse := c.opts.Cutter.Cut
	if trier, ok := c.opts.Cutter.(Trier); ok && !e.Changed.Slow {
		parse = trier.Try
	}
	var mu sync.Mutex // guards records and made
	var records []store.SyntaxRecord
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Concurrency)
	for _, f := range files {
		g.Go(func() error {
			syntax, err := c.cutOne(gctx, e.Codebase, f, parse)
			var retry *bus.Retry
			if gctx.Err() != nil || errors.As(err, &retry) {
				return errors.Join(gctx.Err(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, chunk.ErrSlow):
				made.slow = append(made.slow, f)
			case err != nil:
				made.faults = append(made.faults, fault{f, c.key(f).Version, err})
			default:
				records = append(records, store.SyntaxRecord{Key: c.key(f), Syntax: syntax})
				made.chunks += len(syntax.Chunks)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return made, err
	}
	if err := c.Store.PutSyntax(ctx, records); err != nil {
		return made, outage(fmt.Errorf("store syntax: %w", err))
	}
	return made, nil
}

// cutFunc is Cutter.Cut or Trier.Try.
type cutFunc func(ctx context.Context, language string, content []byte) (store.Syntax, error)

func (c *Chunker) cutOne(ctx context.Context, id store.CodebaseID, f event.File, parse cutFunc) (store.Syntax, error) {
	content, err := c.content(ctx, id, f)
	if err != nil {
		return store.Syntax{}, err
	}
	syntax, err := parse(ctx, f.Language, content)
	var died *chunk.ChildDied
	if errors.As(err, &died) {
		// A crash can also be the machine's doing: only a second one convicts.
		syntax, err = parse(ctx, f.Language, content)
	}
	if errors.As(err, &died) && ctx.Err() == nil {
		c.Log.Warn("content quarantined", "path", f.Path, "content", f.Content.Short(), "language", f.Language, "error", err)
		return c.opts.Quarantine(content), nil
	}
	if err != nil {
		return store.Syntax{}, fmt.Errorf("cut %s: %w", f.Path, err)
	}
	return syntax, nil
}
