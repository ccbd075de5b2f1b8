package outagecache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Options of New; the zero value is usable.
type Options struct {
	// Patience is the timeout of a read whose answer is cached; 0 means 2 seconds.
	Patience time.Duration
	// ProbeEvery is the interval of health checks during an outage; 0 means a second.
	ProbeEvery time.Duration
	// ContentBytes bounds the cached contents; 0 means 32 MiB.
	ContentBytes int
	Now          func() time.Time
	Log          *slog.Logger
}

// The sizes of the other caches.
const (
	fewAnswers  = 256
	manyAnswers = 4096
	// probeWait is the timeout of a health check.
	probeWait = 5 * time.Second
)

// Reader is a store.Reader that caches what it reads. The methods that it does not define are
// those of the store. It may be used from several goroutines.
type Reader struct {
	store.Reader
	opts Options

	codebases *cache[store.CodebaseID, store.Codebase]
	listed    *cache[struct{}, []store.Codebase]
	recipes   *cache[store.Fingerprint, store.Recipe]
	snapshots *cache[version, store.Snapshot]
	views     *cache[version, store.View]
	failures  *cache[store.CodebaseID, []store.Failure]
	positions *cache[struct{}, store.LogPosition]
	files     *cache[place, store.FileEntry]
	contents  *cache[merkle.Hash, []byte]
	syntaxes  *cache[store.SyntaxKey, store.Syntax]

	ctx     context.Context //nolint:containedctx // of the probes, which outlive the reads that began them
	stop    context.CancelFunc
	probes  sync.WaitGroup
	mu      sync.Mutex // guards what follows
	since   time.Time  // when the store went away; zero while it is there
	probing bool
	closed  bool
}

// version names a snapshot, and place a file in one.
type (
	version struct {
		codebase store.CodebaseID
		number   uint64
	}
	place struct {
		version
		path string
	}
)

// New returns a reader over r, which stays the caller's. It must be closed before r is.
func New(r store.Reader, o Options) *Reader {
	if o.Patience <= 0 {
		o.Patience = 2 * time.Second
	}
	if o.ProbeEvery <= 0 {
		o.ProbeEvery = time.Second
	}
	if o.ContentBytes <= 0 {
		o.ContentBytes = 32 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Reader{
		Reader: r, opts: o, ctx: ctx, stop: stop,
		codebases: newCache[store.CodebaseID, store.Codebase](fewAnswers, nil),
		listed:    newCache[struct{}, []store.Codebase](1, nil),
		recipes:   newCache[store.Fingerprint, store.Recipe](fewAnswers, nil),
		snapshots: newCache[version, store.Snapshot](fewAnswers, nil),
		views:     newCache[version, store.View](fewAnswers, nil),
		failures:  newCache[store.CodebaseID, []store.Failure](fewAnswers, nil),
		positions: newCache[struct{}, store.LogPosition](1, nil),
		files:     newCache[place, store.FileEntry](manyAnswers, nil),
		contents:  newCache[merkle.Hash](o.ContentBytes, func(data []byte) int { return len(data) + 1 }),
		syntaxes:  newCache[store.SyntaxKey, store.Syntax](fewAnswers, nil),
	}
}

// Close stops the health checks and clears the caches. It may be called twice.
func (s *Reader) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.probes.Wait()
	s.Forget()
	return nil
}

// Forget clears the caches. Call it after a codebase was removed.
func (s *Reader) Forget() {
	s.codebases.clear()
	s.listed.clear()
	s.recipes.clear()
	s.snapshots.clear()
	s.views.clear()
	s.failures.clear()
	s.positions.clear()
	s.files.clear()
	s.contents.clear()
	s.syntaxes.clear()
}

// Away reports whether the store cannot be reached, and since when.
func (s *Reader) Away() (since time.Time, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, !s.since.IsZero()
}

// ask reads from the store, or from the cache during an outage.
func ask[K comparable, V any](ctx context.Context, s *Reader, m *cache[K, V], key K, read func(context.Context) (V, error)) (V, error) {
	held, known := m.get(key)
	if _, away := s.Away(); away && known {
		return held, ctx.Err()
	}
	patient := ctx
	if known {
		var cancel context.CancelFunc
		patient, cancel = context.WithTimeout(ctx, s.opts.Patience)
		defer cancel()
	}
	v, err := read(patient)
	switch {
	case err == nil:
		m.put(key, v)
		s.returned()
	case ctx.Err() != nil:
	case errors.Is(err, store.ErrUnavailable), patient.Err() != nil:
		s.went(err)
		if known {
			return held, nil
		}
	default:
		m.drop(key)
	}
	return v, err
}

func (s *Reader) went(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.since.IsZero() {
		return
	}
	s.since = s.opts.Now()
	s.opts.Log.Warn("the store is away; reads are answered from memory", "error", err)
	if !s.closed && !s.probing {
		s.probing = true
		s.probes.Go(s.probe)
	}
}

func (s *Reader) returned() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.since.IsZero() {
		s.opts.Log.Info("the store is back", "away", s.opts.Now().Sub(s.since))
		s.since = time.Time{}
	}
}

// probe checks the store's health until the outage is over.
func (s *Reader) probe() {
	ticker := time.NewTicker(s.opts.ProbeEvery)
	defer ticker.Stop()
	for s.wanted() {
		select {
		case <-s.ctx.Done():
			continue
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(s.ctx, probeWait)
		_, err := s.Reader.LogPosition(ctx)
		cancel()
		if err == nil {
			s.returned()
		}
	}
}

// wanted reports whether an outage is on, and otherwise ends the probing.
func (s *Reader) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probing = !s.closed && !s.since.IsZero()
	return s.probing
}

// Codebase implements store.Reader.
func (s *Reader) Codebase(ctx context.Context, id store.CodebaseID) (store.Codebase, error) {
	return ask(ctx, s, s.codebases, id, func(ctx context.Context) (store.Codebase, error) { return s.Reader.Codebase(ctx, id) })
}

// Codebases implements store.Reader.
func (s *Reader) Codebases(ctx context.Context) ([]store.Codebase, error) {
	all, err := ask(ctx, s, s.listed, struct{}{}, s.Reader.Codebases)
	return slices.Clone(all), err
}

// Recipe implements store.Reader.
func (s *Reader) Recipe(ctx context.Context, fp store.Fingerprint) (store.Recipe, error) {
	return ask(ctx, s, s.recipes, fp, func(ctx context.Context) (store.Recipe, error) { return s.Reader.Recipe(ctx, fp) })
}

// Snapshot implements store.Reader.
func (s *Reader) Snapshot(ctx context.Context, id store.CodebaseID, number uint64) (store.Snapshot, error) {
	return ask(ctx, s, s.snapshots, version{id, number}, func(ctx context.Context) (store.Snapshot, error) {
		return s.Reader.Snapshot(ctx, id, number)
	})
}

// View implements store.Reader. What it returns is shared and must not be written.
func (s *Reader) View(ctx context.Context, id store.CodebaseID, number uint64) (store.View, error) {
	return ask(ctx, s, s.views, version{id, number}, func(ctx context.Context) (store.View, error) {
		return s.Reader.View(ctx, id, number)
	})
}

// Failures implements store.Reader.
func (s *Reader) Failures(ctx context.Context, id store.CodebaseID) ([]store.Failure, error) {
	all, err := ask(ctx, s, s.failures, id, func(ctx context.Context) ([]store.Failure, error) { return s.Reader.Failures(ctx, id) })
	return slices.Clone(all), err
}

// LogPosition implements store.Reader.
func (s *Reader) LogPosition(ctx context.Context) (store.LogPosition, error) {
	return ask(ctx, s, s.positions, struct{}{}, s.Reader.LogPosition)
}

// File implements store.Reader.
func (s *Reader) File(ctx context.Context, id store.CodebaseID, number uint64, path string) (store.FileEntry, error) {
	return ask(ctx, s, s.files, place{version{id, number}, path}, func(ctx context.Context) (store.FileEntry, error) {
		return s.Reader.File(ctx, id, number, path)
	})
}

// Content implements store.Reader. What it returns is shared and must not be written.
func (s *Reader) Content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	return ask(ctx, s, s.contents, h, func(ctx context.Context) ([]byte, error) { return s.Reader.Content(ctx, h) })
}

// Syntax implements store.Reader. The syntaxes that it returns are shared and must not be
// written. While the store is away it returns those that are known, and with them
// store.ErrUnavailable when these are not all.
func (s *Reader) Syntax(ctx context.Context, keys []store.SyntaxKey) (map[store.SyntaxKey]store.Syntax, error) {
	if _, away := s.Away(); !away {
		found, err := s.Reader.Syntax(ctx, keys)
		if err == nil {
			for key, syntax := range found {
				s.syntaxes.put(key, syntax)
			}
			return found, nil
		}
		if ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) {
			return found, err
		}
		s.went(err)
	}
	found, missing := make(map[store.SyntaxKey]store.Syntax, len(keys)), 0
	for _, key := range keys {
		if syntax, known := s.syntaxes.get(key); known {
			found[key] = syntax
		} else {
			missing++
		}
	}
	if missing > 0 {
		return found, fmt.Errorf("%d of %d syntaxes: %w", missing, len(keys), store.ErrUnavailable)
	}
	return found, nil
}

// Session implements store.Reader. Sessions are not cached: it fails during an outage.
func (s *Reader) Session(ctx context.Context, id string) (store.Session, error) {
	if _, away := s.Away(); away {
		return store.Session{}, fmt.Errorf("session: %w", store.ErrUnavailable)
	}
	return s.Reader.Session(ctx, id)
}
