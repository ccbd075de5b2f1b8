package stage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Embedder is the embed stage.
type Embedder struct {
	core
	provider embedding.Provider
	calls    chan struct{} // as many as the provider takes at once
	key      string
}

// NewEmbedder returns an embed stage over a provider whose recipe is that of deps.
func NewEmbedder(deps Deps, provider embedding.Provider) *Embedder {
	return &Embedder{
		core: newCore(deps, store.StageEmbed), provider: provider,
		calls: make(chan struct{}, max(1, provider.Limits().Concurrency)), key: deps.Recipe.Embedding.Key(),
	}
}

// Consumers are the durable consumers whose deliveries Handle takes: one for edits and one
// for large changes, each with its own workers: the latter twice as many.
func (m *Embedder) Consumers(workers int) []bus.Consumer {
	return []bus.Consumer{
		{Name: "embed", Lanes: []bus.Lane{bus.LaneChunk}, Workers: workers},
		{Name: "embed-bulk", Lanes: []bus.Lane{bus.LaneBulkChunk}, Workers: 2 * workers},
	}
}

// Handle processes one event. A text that has a vector is never sent to the provider.
func (m *Embedder) Handle(ctx context.Context, d bus.Delivery) error {
	e, err := m.admit(ctx, d)
	if err != nil {
		return err
	}
	if e.Type != event.FilesChunked {
		return nil
	}
	release, err := m.claims.take(ctx, e.Codebase, e.Processed.Files)
	if err != nil {
		return err
	}
	defer release()
	jobs, err := m.jobs(ctx, e)
	if err != nil {
		return err
	}
	made, faults, err := m.embed(ctx, jobs)
	if err != nil {
		return err
	}
	if err := m.count(ctx, e, faults); err != nil {
		return err
	}
	next := event.Embedded(e, e.Processed.Files, m.Now())
	next.Processed.Reused, next.Processed.Units = len(e.Processed.Files)-len(jobs), made
	if err := m.follow(ctx, next); err != nil {
		return err
	}
	m.report(e, len(jobs), len(e.Processed.Files)-len(jobs), made)
	return nil
}

// job is a file some of whose chunks may lack a vector.
type job struct {
	file  event.File
	key   store.SyntaxKey
	texts []text
}

type text struct {
	hash merkle.Hash
	body string
}

// jobs lists the files that are not embedded yet, with the texts that lack a vector.
func (m *Embedder) jobs(ctx context.Context, e event.Event) ([]job, error) {
	files := e.Processed.Files
	keys := make([]store.SyntaxKey, len(files))
	for i, f := range files {
		keys[i] = store.SyntaxKey{Content: f.Content, Version: m.Recipe.SyntaxVersion(f.Language)}
	}
	done, err := m.Store.HasEmbedded(ctx, m.key, keys)
	if err != nil {
		return nil, outage(err)
	}
	var open []store.SyntaxKey
	for _, k := range keys {
		if !done[k] {
			open = append(open, k)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	syntaxes, err := m.Store.Syntax(ctx, open)
	if err != nil {
		return nil, outage(err)
	}
	parked, err := m.parkedSet(ctx, e.Codebase)
	if err != nil {
		return nil, err
	}
	have, err := m.haveVectors(ctx, syntaxes)
	if err != nil {
		return nil, err
	}
	var jobs []job
	taken := map[store.SyntaxKey]bool{}
	for i, f := range files {
		syntax, ok := syntaxes[keys[i]]
		if !ok || taken[keys[i]] || parked[parkedKey{f.Path, f.Content, m.key}] {
			continue // parked at an earlier stage, or here
		}
		taken[keys[i]] = true
		j := job{file: f, key: keys[i]}
		if j.texts, err = m.texts(ctx, f, syntax, have); err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func (m *Embedder) haveVectors(ctx context.Context, syntaxes map[store.SyntaxKey]store.Syntax) (map[merkle.Hash]bool, error) {
	var hashes []merkle.Hash
	for _, s := range syntaxes {
		for _, c := range s.Chunks {
			hashes = append(hashes, c.TextHash)
		}
	}
	vectors, err := m.Store.Vectors(ctx, m.key, hashes)
	if err != nil {
		return nil, outage(err)
	}
	have := make(map[merkle.Hash]bool, len(vectors))
	for h := range vectors {
		have[h] = true
	}
	return have, nil
}

// texts returns the chunk texts of one file that lack a vector.
func (m *Embedder) texts(ctx context.Context, f event.File, s store.Syntax, have map[merkle.Hash]bool) ([]text, error) {
	var texts []text
	var body []byte
	for _, c := range s.Chunks {
		if have[c.TextHash] {
			continue
		}
		if body == nil {
			var err error
			if body, err = content(ctx, m.Store, f.Content); err != nil {
				return nil, outage(err)
			}
		}
		if int(c.End) > len(body) || c.Start > c.End {
			return nil, &bus.Drop{Err: fmt.Errorf("syntax of %s does not fit its content: %w", f.Path, store.ErrCorrupt)}
		}
		texts = append(texts, text{c.TextHash, store.EmbedText(c.Breadcrumb, body[c.Start:c.End])})
	}
	return texts, nil
}

// embed gives every text a vector and commits them. When the provider rejects a batch,
// its files are tried one by one, so that only the file at fault pays.
func (m *Embedder) embed(ctx context.Context, jobs []job) (made int, faults []fault, err error) {
	records, done, err := m.vectors(ctx, jobs)
	if err == nil {
		return len(records), nil, m.put(ctx, records, done)
	}
	if isOutage(ctx, err) {
		return 0, nil, err
	}
	if len(jobs) == 1 {
		return 0, []fault{{jobs[0].file, m.key, err}}, nil
	}
	for i := range jobs {
		n, f, err := m.embed(ctx, jobs[i:i+1])
		if err != nil {
			return made, nil, err
		}
		made += n
		faults = append(faults, f...)
	}
	return made, faults, nil
}

func (m *Embedder) put(ctx context.Context, records []store.VectorRecord, done []store.SyntaxKey) error {
	if len(done) == 0 {
		return nil
	}
	if err := m.Store.PutVectors(ctx, m.key, records, done); err != nil {
		return outage(fmt.Errorf("store vectors: %w", err))
	}
	return nil
}

// vectors calls the provider in batches within its limits, with each text once, and as many
// at once as the provider takes.
func (m *Embedder) vectors(ctx context.Context, jobs []job) ([]store.VectorRecord, []store.SyntaxKey, error) {
	batches, done := m.batches(jobs)
	made := make([][]store.VectorRecord, len(batches))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(cap(m.calls))
	for i, batch := range batches {
		g.Go(func() (err error) {
			made[i], err = m.call(gctx, batch)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	return slices.Concat(made...), done, nil
}

// batches divides the texts of files by the provider's limits.
func (m *Embedder) batches(jobs []job) (batches [][]text, done []store.SyntaxKey) {
	limits := m.provider.Limits()
	var batch []text
	size := 0
	seen := map[merkle.Hash]bool{}
	for _, j := range jobs {
		for _, t := range j.texts {
			if seen[t.hash] {
				continue
			}
			seen[t.hash] = true
			if len(batch) > 0 && (len(batch) == limits.BatchTexts || size+len(t.body) > limits.BatchBytes) {
				batches, batch, size = append(batches, batch), nil, 0
			}
			batch = append(batch, t)
			size += len(t.body)
		}
		done = append(done, j.key)
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	return batches, done
}

// call embeds one batch and refuses a reply that is short, of another dimension or not
// finite: it is rejected whole.
func (m *Embedder) call(ctx context.Context, batch []text) ([]store.VectorRecord, error) {
	bodies := make([]string, len(batch))
	for i, t := range batch {
		bodies[i] = t.body
	}
	select {
	case m.calls <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	vectors, err := m.provider.Embed(ctx, embedding.Document, bodies)
	<-m.calls
	if err != nil {
		var unavailable *embedding.Unavailable
		if errors.As(err, &unavailable) {
			return nil, &bus.Retry{After: unavailable.RetryAfter, Err: err}
		}
		return nil, err
	}
	if len(vectors) != len(batch) {
		return nil, fmt.Errorf("%w: %d vectors for %d texts", embedding.ErrRejected, len(vectors), len(batch))
	}
	records := make([]store.VectorRecord, len(batch))
	for i, v := range vectors {
		if len(v) != m.Recipe.Embedding.Dimension {
			return nil, fmt.Errorf("%w: a vector of %d dimensions, want %d", embedding.ErrRejected, len(v), m.Recipe.Embedding.Dimension)
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return nil, fmt.Errorf("%w: a vector that is not finite", embedding.ErrRejected)
			}
		}
		records[i] = store.VectorRecord{TextHash: batch[i].hash, Vector: store.Quantize(v)}
	}
	return records, nil
}

func isOutage(ctx context.Context, err error) bool {
	var retry *bus.Retry
	var drop *bus.Drop
	return ctx.Err() != nil || errors.As(err, &retry) || errors.As(err, &drop)
}
