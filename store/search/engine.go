package search

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
	"github.com/freshet/freshet/sync/merkle"
)

// Source is the part of store.Reader that an engine reads from.
type Source interface {
	OpenSegment(ctx context.Context, id store.SegmentID) (store.Segment, error)
	Content(ctx context.Context, h merkle.Hash) ([]byte, error)
	Syntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error)
	Recipe(ctx context.Context, fp store.Fingerprint) (store.Recipe, error)
}

// Options of an Engine.
type Options struct {
	// Oversample is the number of candidates by text and by vector each, 0 means 1,000.
	Oversample int
	// IdleSegments is how many segments stay open that no query is using, 0 means 256.
	IdleSegments int
	// RegexDeadline bounds the scan of a regular expression, 0 means ten seconds.
	RegexDeadline time.Duration
	// RegexSteps bounds its work, counted as bytes times the instructions of the compiled
	// expression, 0 means 2^33; one line may cost an eighth of it, 2^27 at most.
	RegexSteps int64
	// Now is the clock of that deadline and of what is kept for a while, nil means time.Now. It
	// is asked by several goroutines at once.
	Now func() time.Time
	// Candidates returns the candidates by vector in views of CandidatesFrom chunks or more, 0
	// means 2,000,000; nil means that all vectors are scanned.
	Candidates     CandidateIndex
	CandidatesFrom int
	// Ranking weighs the signals, nil means DefaultRanking.
	Ranking *Ranking
	// Reranking reorders the best hits by a Reranker; the zero value has none.
	Reranking Reranking
}

// Engine answers queries from sealed snapshots. It may be used from several goroutines.
type Engine struct {
	source   Source
	embedder QueryEmbedder
	options  Options
	ranking  Ranking
	cache    *cache
	orders   orders
	scratch  sync.Pool // of *scratch
}

// New returns an engine over a store. A nil embedder means that no query has a vector.
func New(source Source, embedder QueryEmbedder, options Options) *Engine {
	if options.Oversample <= 0 {
		options.Oversample = 1000
	}
	if options.IdleSegments <= 0 {
		options.IdleSegments = 256
	}
	if options.RegexDeadline <= 0 {
		options.RegexDeadline = 10 * time.Second
	}
	if options.RegexSteps <= 0 {
		options.RegexSteps = scanSteps
	}
	if options.CandidatesFrom <= 0 {
		options.CandidatesFrom = candidatesFrom
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	options.Reranking = options.Reranking.withDefaults()
	ranking := DefaultRanking()
	if options.Ranking != nil {
		ranking = *options.Ranking
	}
	return &Engine{
		source: source, embedder: embedder, options: options, ranking: ranking,
		cache:   newCache(source, options.IdleSegments),
		scratch: sync.Pool{New: func() any { return new(scratch) }},
	}
}

// Close closes the cached segments. Queries under way finish; later ones fail with
// store.ErrClosed. It may be called twice.
func (e *Engine) Close() error { return e.cache.close() }

// Search answers a query from a view. It does not look at the view's fingerprint: the
// caller asks JudgeFields first. A query that cannot be answered as it stands gives a
// *BadQuery.
func (e *Engine) Search(ctx context.Context, view store.View, q Query) (result Result, err error) {
	defer func() { err = errors.Join(err, mappingFault(recover())) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	q, err = q.prepare()
	if err != nil {
		return Result{}, err
	}
	segments, err := e.cache.acquire(ctx, view)
	if err != nil {
		return Result{}, fmt.Errorf("search snapshot %d of %s: %w", view.Snapshot.Number, view.Snapshot.Codebase, err)
	}
	defer func() {
		recovered := recover()
		var changed error
		for _, s := range segments {
			changed = errors.Join(changed, s.check())
		}
		if changed != nil { // what was read of a segment that was changed meanwhile is no answer
			result, err, recovered = Result{}, errors.Join(err, changed), nil
		}
		err = errors.Join(err, e.cache.release(segments))
		err = errors.Join(err, mappingFault(recovered))
	}()
	c := newCorpus(view, segments)
	f, err := c.filter(q)
	if err != nil {
		return Result{}, err
	}
	r := &run{Engine: e, view: view, query: q, corpus: c, filtered: f, words: lexical.Analyze(q.Text)}
	r.syntax = syntaxes{source: e.source, fingerprint: view.Snapshot.Fingerprint}
	r.result.Considered = Considered{Files: c.fileCount, Chunks: c.liveCount, Removed: f.removed}
	r.scratch = e.scratch.Get().(*scratch)
	r.scratch.fit(c.files, c.chunks)
	err = r.answer(ctx)
	// Not deferred: what a panic leaves is not fit for another query.
	r.scratch.reset()
	e.scratch.Put(r.scratch)
	if err != nil {
		return Result{}, err
	}
	return r.result, nil
}

// mappingFault turns the memory fault of reading a mapped segment whose file was truncated
// into an error. Any other panic continues.
func mappingFault(recovered any) error {
	if recovered == nil {
		return nil
	}
	if fault, ok := recovered.(interface {
		runtime.Error
		Addr() uintptr
	}); ok {
		return fmt.Errorf("a segment cannot be read any more (%w): %w", fault, store.ErrCorrupt)
	}
	panic(recovered)
}

// run is one query under way.
type run struct {
	*Engine
	view     store.View
	query    Query
	words    lexical.Query
	corpus   *corpus
	filtered *filtered
	scratch  *scratch
	syntax   syntaxes
	result   Result
}

func (r *run) answer(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch r.query.Mode {
	case ModeSymbol:
		return r.symbols(ctx)
	case ModePath:
		return r.paths()
	case ModeExact, ModeRegex:
		return r.lines(ctx)
	default:
		return r.chunks(ctx)
	}
}
