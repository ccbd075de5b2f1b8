package stage

import (
	"context"
	"errors"
	"fmt"
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
}

// NewChunker returns a chunk stage.
func NewChunker(deps Deps, opts ChunkerOptions) *Chunker {
	if opts.Concurrency == 0 {
		opts.Concurrency = 1
	}
	return &Chunker{core: newCore(deps, store.StageChunk), opts: opts}
}

// Consumers are the durable consumers whose deliveries Handle takes: one for edits and one
// for large changes, each with its own workers: the latter twice as many.
func (c *Chunker) Consumers(workers int) []bus.Consumer {
	return []bus.Consumer{
		{Name: "chunk", Lanes: []bus.Lane{bus.LaneSync}, Workers: workers},
		{Name: "chunk-bulk", Lanes: []bus.Lane{bus.LaneBulk}, Workers: 2 * workers},
	}
}

// Handle processes one event. Files whose syntax the store has are passed on untouched.
func (c *Chunker) Handle(ctx context.Context, d bus.Delivery) error {
	e, err := c.admit(ctx, d)
	if err != nil {
		return err
	}
	if e.Type != event.FilesChanged {
		return nil
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
	faults, chunks, err := c.cut(ctx, e.Codebase, missing)
	if err != nil {
		return err
	}
	if err := c.count(ctx, e, faults); err != nil {
		return err
	}
	next := event.Chunked(e, files, c.Now())
	next.Processed.Reused, next.Processed.Units = len(files)-len(missing), chunks
	if err := c.follow(ctx, next); err != nil {
		return err
	}
	c.report(e, len(missing), len(files)-len(missing), chunks)
	return nil
}

func (c *Chunker) key(f event.File) store.SyntaxKey {
	return store.SyntaxKey{Content: f.Content, Version: c.Recipe.SyntaxVersion(f.Language)}
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

// cut parses files and stores their syntaxes in one transaction.
func (c *Chunker) cut(ctx context.Context, id store.CodebaseID, files []event.File) (faults []fault, chunks int, err error) {
	if len(files) == 0 {
		return nil, 0, nil
	}
	var mu sync.Mutex // guards records, faults
	var records []store.SyntaxRecord
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Concurrency)
	for _, f := range files {
		g.Go(func() error {
			syntax, err := c.cutOne(gctx, id, f)
			var retry *bus.Retry
			if gctx.Err() != nil || errors.As(err, &retry) {
				return errors.Join(gctx.Err(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				faults = append(faults, fault{f, c.key(f).Version, err})
				return nil
			}
			records = append(records, store.SyntaxRecord{Key: c.key(f), Syntax: syntax})
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, 0, err
	}
	if err := c.Store.PutSyntax(ctx, records); err != nil {
		return nil, 0, outage(fmt.Errorf("store syntax: %w", err))
	}
	for _, r := range records {
		chunks += len(r.Syntax.Chunks)
	}
	return faults, chunks, nil
}

func (c *Chunker) cutOne(ctx context.Context, id store.CodebaseID, f event.File) (store.Syntax, error) {
	content, err := c.content(ctx, id, f)
	if err != nil {
		return store.Syntax{}, err
	}
	syntax, err := c.opts.Cutter.Cut(ctx, f.Language, content)
	var died *chunk.ChildDied
	if errors.As(err, &died) {
		// A crash can also be the machine's doing: only a second one convicts.
		syntax, err = c.opts.Cutter.Cut(ctx, f.Language, content)
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
