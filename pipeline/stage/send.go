package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// maxRejected is how many single texts a provider may reject in a row before the rest of a
// batch is taken to be rejected too.
const maxRejected = 8

// sending embeds the texts of one delivery in batches, as many at once as the window lets.
// A batch that fails stops those that were not sent yet; those under way end, and what they
// bring is kept.
type sending struct {
	m *Embedder

	mu       sync.Mutex // guards what follows
	left     []text
	failed   error                 // why no more is sent
	made     int                   // vectors
	records  []store.VectorRecord  // that are not stored yet
	rejected map[merkle.Hash]error // of texts that the provider refuses
	row      int                   // texts rejected one by one since the last that was not
}

// run sends everything. It returns why not all texts have a vector or were rejected.
func (s *sending) run(ctx context.Context) error {
	var g errgroup.Group
	for range min(s.m.window.limits.Concurrency, len(s.left)) {
		g.Go(func() error {
			for {
				batch, err := s.next(ctx)
				if err != nil || batch == nil {
					return err
				}
				if err := s.batch(ctx, batch); err != nil {
					s.stop(err)
					return err
				}
			}
		})
	}
	return g.Wait()
}

func (s *sending) stop(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

// next takes the next batch, for which the window has room; nil when there is none.
func (s *sending) next(ctx context.Context) ([]text, error) {
	s.mu.Lock()
	want := len(s.left)
	if s.failed != nil {
		want = 0
	}
	s.mu.Unlock()
	if want == 0 {
		return nil, nil
	}
	n, err := s.m.window.enter(ctx, want)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	size, k := 0, 0
	for k < min(n, len(s.left)) && s.failed == nil {
		if size += len(s.left[k].body); k > 0 && size > s.m.window.limits.BatchBytes {
			break
		}
		k++
	}
	batch := s.left[:k:k]
	s.left = s.left[k:]
	if k == 0 {
		s.m.window.leave(n, 0)
		return nil, nil
	}
	s.m.window.shrink(n - k)
	return batch, nil
}

// batch embeds texts that the window has let in. What the provider rejects is divided until
// the texts at fault stand alone.
func (s *sending) batch(ctx context.Context, batch []text) error {
	records, rest, err := s.m.call(ctx, batch)
	if err := s.keep(ctx, records); err != nil {
		return err
	}
	if err == nil {
		return nil
	}
	var retry *bus.Retry
	if ctx.Err() != nil || errors.As(err, &retry) {
		return err
	}
	if s.reject(rest, err) {
		return nil
	}
	if len(rest) < len(batch) {
		return s.again(ctx, rest)
	}
	if err := s.again(ctx, rest[:len(rest)/2]); err != nil {
		return err
	}
	return s.again(ctx, rest[len(rest)/2:])
}

// again sends texts once more when the window has room for them.
func (s *sending) again(ctx context.Context, texts []text) error {
	for len(texts) > 0 {
		n, err := s.m.window.enter(ctx, len(texts))
		if err != nil {
			return err
		}
		if err := s.batch(ctx, texts[:n]); err != nil {
			return err
		}
		texts = texts[n:]
	}
	return nil
}

// reject takes note of a text that was rejected alone, and of all others once too many were.
func (s *sending) reject(texts []text, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(texts) > 1 && s.row < maxRejected {
		return false
	}
	s.row++
	for _, t := range texts {
		s.rejected[t.hash] = err
	}
	return true
}

// keep stores vectors that were paid for, and gathers others for one commit.
func (s *sending) keep(ctx context.Context, records []store.VectorRecord) error {
	if len(records) == 0 {
		return nil
	}
	s.mu.Lock()
	s.made += len(records)
	s.row = 0
	if !s.m.window.limits.Paid {
		s.records = append(s.records, records...)
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	return s.m.put(ctx, records, nil)
}

// call embeds one batch, and ends its stay in the window. It returns the vectors that are
// well, and the texts that have none with the reason: a *bus.Retry when the provider is away.
func (m *Embedder) call(ctx context.Context, batch []text) (records []store.VectorRecord, rest []text, err error) {
	bodies := make([]string, len(batch))
	for i, t := range batch {
		bodies[i] = t.body
	}
	vectors, err := m.provider.Embed(ctx, embedding.Document, bodies)
	var unavailable *embedding.Unavailable
	ended := outcomeAnswered
	switch {
	case errors.As(err, &unavailable) && unavailable.Lost, err != nil && ctx.Err() != nil:
		ended = outcomeLost
	case vectors == nil && err != nil:
		ended = outcomeRefused
	}
	m.window.leave(len(batch), ended)
	switch {
	case unavailable != nil:
		return nil, batch, &bus.Retry{After: unavailable.RetryAfter, Err: err}
	case vectors == nil && err != nil:
		return nil, batch, err
	case len(vectors) != len(batch):
		return nil, batch, fmt.Errorf("%w: %d vectors for %d texts", embedding.ErrRejected, len(vectors), len(batch))
	}
	for i, v := range vectors {
		switch fault := m.check(v); {
		case v == nil && err != nil:
			rest = append(rest, batch[i])
		case fault != nil:
			rest, err = append(rest, batch[i]), fault
		default:
			records = append(records, store.VectorRecord{TextHash: batch[i].hash, Vector: store.Quantize(v)})
		}
	}
	if len(rest) == 0 {
		err = nil
	}
	return records, rest, err
}

// check returns what is wrong with a vector.
func (m *Embedder) check(v []float32) error {
	if len(v) != m.Recipe.Embedding.Dimension {
		return fmt.Errorf("%w: a vector of %d dimensions, want %d", embedding.ErrRejected, len(v), m.Recipe.Embedding.Dimension)
	}
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("%w: a vector that is not finite", embedding.ErrRejected)
		}
	}
	return nil
}

// put stores vectors, also while the process ends. Those that the store does not take now are
// remembered, and put when somebody asks for vectors next.
func (m *Embedder) put(ctx context.Context, records []store.VectorRecord, done []store.SyntaxKey) error {
	if len(records)+len(done) == 0 {
		return nil
	}
	err := m.Store.PutVectors(context.WithoutCancel(ctx), m.key, records, done)
	if err == nil {
		return nil
	}
	m.unsaved.add(records)
	return outage(fmt.Errorf("store vectors: %w", err))
}

// unsaved are vectors that the store did not take. The zero value works.
type unsaved struct {
	mu      sync.Mutex // guards records
	records map[merkle.Hash]store.VectorRecord
}

// maxUnsaved bounds the memory of unsaved vectors: 16 MiB of 1,024 dimensions.
const maxUnsaved = 16 << 10

func (u *unsaved) add(records []store.VectorRecord) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.records == nil {
		u.records = map[merkle.Hash]store.VectorRecord{}
	}
	for _, r := range records {
		if len(u.records) < maxUnsaved {
			u.records[r.TextHash] = r
		}
	}
}

// flush puts all that is unsaved, and forgets it. Who comes meanwhile waits for the outcome.
func (u *unsaved) flush(put func([]store.VectorRecord) error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.records) == 0 {
		return nil
	}
	if err := put(slices.Collect(maps.Values(u.records))); err != nil {
		return err
	}
	u.records = nil
	return nil
}
