package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	window   *window
	flights  flights
	unsaved  unsaved
	key      string
}

// NewEmbedder returns an embed stage over a provider whose recipe is that of deps.
func NewEmbedder(deps Deps, provider embedding.Provider) *Embedder {
	return &Embedder{
		core: newCore(deps, store.StageEmbed), provider: provider,
		window: newWindow(provider.Limits()), key: deps.Recipe.Embedding.Key(),
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
	seen := m.flights.count()
	jobs, faults, err := m.jobs(ctx, e)
	if err != nil {
		return err
	}
	made, rejected, err := m.embed(ctx, jobs, seen)
	if err != nil {
		return err
	}
	faults = append(faults, rejected...)
	again, err := m.count(ctx, e, faults)
	if err != nil {
		return err
	}
	if again.retry != nil {
		return again.retry
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

// jobs lists the files that are not embedded yet, with the texts that lack a vector, and those
// whose content or syntax is damaged beyond repair.
func (m *Embedder) jobs(ctx context.Context, e event.Event) (jobs []job, faults []fault, err error) {
	files := e.Processed.Files
	keys := make([]store.SyntaxKey, len(files))
	for i, f := range files {
		keys[i] = store.SyntaxKey{Content: f.Content, Version: m.Recipe.SyntaxVersion(f.Language)}
	}
	done, err := m.Store.HasEmbedded(ctx, m.key, keys)
	if err != nil {
		return nil, nil, outage(err)
	}
	if !slices.ContainsFunc(keys, func(k store.SyntaxKey) bool { return !done[k] }) {
		return nil, nil, nil
	}
	parked, err := m.parkedSet(ctx, e.Codebase)
	if err != nil {
		return nil, nil, err
	}
	open := map[store.SyntaxKey]event.File{}
	for i, f := range files {
		if !done[keys[i]] && !parked[parkedKey{f.Path, f.Content, m.key}] {
			open[keys[i]] = f
		}
	}
	if len(open) == 0 {
		return nil, nil, nil
	}
	syntaxes, faults, err := m.syntaxes(ctx, e.Codebase, open)
	if err != nil {
		return nil, nil, err
	}
	have, err := m.haveVectors(ctx, syntaxes)
	if err != nil {
		return nil, nil, err
	}
	taken := map[store.SyntaxKey]bool{}
	for i, f := range files {
		syntax, ok := syntaxes[keys[i]]
		if !ok || taken[keys[i]] || parked[parkedKey{f.Path, f.Content, m.key}] {
			continue // parked at an earlier stage, or here, or to be cut again
		}
		taken[keys[i]] = true
		j := job{file: f, key: keys[i]}
		j.texts, err = m.texts(ctx, e.Codebase, f, syntax, have)
		switch {
		case err == nil:
			jobs = append(jobs, j)
		case isOutage(ctx, err):
			return nil, nil, err
		default:
			faults = append(faults, fault{f, m.key, err})
		}
	}
	return jobs, faults, nil
}

// syntaxes reads syntaxes. Those that are damaged are discarded: their files are pending at the
// chunk stage again. A store may need the content of a file for its syntax; where that is lost
// it is read from the tree again, and the files of which it cannot be are returned as faults.
func (m *Embedder) syntaxes(ctx context.Context, id store.CodebaseID, files map[store.SyntaxKey]event.File) (map[store.SyntaxKey]store.Syntax, []fault, error) {
	syntaxes, err := m.Store.Syntax(ctx, slices.Collect(maps.Keys(files)))
	if err := m.discard(ctx, err); err != nil {
		return nil, nil, err
	}
	var missing []store.SyntaxKey
	for k := range files {
		if _, ok := syntaxes[k]; !ok {
			missing = append(missing, k)
		}
	}
	if len(missing) == 0 {
		return syntaxes, nil, nil
	}
	bare, err := m.Store.HasSyntax(ctx, missing)
	if err != nil {
		return nil, nil, outage(err)
	}
	var faults []fault
	var again []store.SyntaxKey
	for k := range bare {
		switch _, err := m.content(ctx, id, files[k]); {
		case err == nil:
			again = append(again, k)
		case isOutage(ctx, err):
			return nil, nil, err
		default:
			faults = append(faults, fault{files[k], m.key, err})
		}
	}
	found, err := m.Store.Syntax(ctx, again)
	if err := m.discard(ctx, err); err != nil {
		return nil, nil, err
	}
	maps.Copy(syntaxes, found)
	return syntaxes, faults, nil
}

func (m *Embedder) haveVectors(ctx context.Context, syntaxes map[store.SyntaxKey]store.Syntax) (map[merkle.Hash]bool, error) {
	var hashes []merkle.Hash
	for _, s := range syntaxes {
		for _, c := range s.Chunks {
			hashes = append(hashes, c.TextHash)
		}
	}
	return m.stored(ctx, hashes)
}

// stored returns which texts have a vector, after the vectors that the store did not take
// before were put. Damaged vectors are discarded, and made again.
func (m *Embedder) stored(ctx context.Context, hashes []merkle.Hash) (map[merkle.Hash]bool, error) {
	if err := m.unsaved.flush(func(r []store.VectorRecord) error { return m.Store.PutVectors(ctx, m.key, r, nil) }); err != nil {
		return nil, outage(fmt.Errorf("store vectors: %w", err))
	}
	vectors, err := m.Store.Vectors(ctx, m.key, hashes)
	if err := m.discard(ctx, err); err != nil {
		return nil, err
	}
	have := make(map[merkle.Hash]bool, len(vectors))
	for h := range vectors {
		have[h] = true
	}
	return have, nil
}

// texts returns the chunk texts of one file that lack a vector.
func (m *Embedder) texts(ctx context.Context, id store.CodebaseID, f event.File, s store.Syntax, have map[merkle.Hash]bool) ([]text, error) {
	var texts []text
	var body []byte
	for _, c := range s.Chunks {
		if have[c.TextHash] {
			continue
		}
		if body == nil {
			var err error
			if body, err = m.content(ctx, id, f); err != nil {
				return nil, err
			}
		}
		if int(c.End) > len(body) || c.Start > c.End {
			return nil, fmt.Errorf("syntax of %s does not fit its content: %w", f.Path, store.ErrCorrupt)
		}
		texts = append(texts, text{c.TextHash, store.EmbedText(c.Breadcrumb, body[c.Start:c.End])})
	}
	return texts, nil
}

// embed gives every text a vector, and marks the files that have all of theirs. seen is the
// count of flights before the jobs were made. An error leaves what was made in the store.
func (m *Embedder) embed(ctx context.Context, jobs []job, seen uint64) (made int, faults []fault, err error) {
	s := &sending{m: m, rejected: map[merkle.Hash]error{}}
	for wanted := distinct(jobs); ; {
		taken, others := m.flights.board(wanted)
		err = m.send(ctx, s, taken, &seen)
		last := err != nil || len(others) == 0
		var done []store.SyntaxKey
		if last && (err == nil || s.made > 0) {
			done, faults = s.finished(jobs)
		}
		err = errors.Join(err, m.put(ctx, s.records, done))
		s.records = nil
		m.flights.land(taken) // before it waits for others, who may wait for these
		if last || err != nil {
			return s.made, faults, err
		}
		if wanted, err = m.await(ctx, others); err != nil {
			return s.made, nil, err
		}
	}
}

// await waits for the texts that other deliveries embed, and returns those that have no vector
// all the same.
func (m *Embedder) await(ctx context.Context, others map[text]<-chan struct{}) (failed []text, err error) {
	var hashes []merkle.Hash
	for t, end := range others {
		select {
		case <-end:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		hashes = append(hashes, t.hash)
	}
	have, err := m.stored(ctx, hashes)
	if err != nil {
		return nil, err
	}
	for t := range others {
		if !have[t.hash] {
			failed = append(failed, t)
		}
	}
	return failed, nil
}

// send sends texts, less those that another delivery embedded after the store was read.
func (m *Embedder) send(ctx context.Context, s *sending, taken []text, seen *uint64) error {
	if len(taken) == 0 {
		return nil
	}
	s.left = taken
	if now := m.flights.count(); now != *seen {
		hashes := make([]merkle.Hash, len(taken))
		for i, t := range taken {
			hashes[i] = t.hash
		}
		have, err := m.stored(ctx, hashes)
		if err != nil {
			return err
		}
		s.left = slices.DeleteFunc(slices.Clone(taken), func(t text) bool { return have[t.hash] })
		*seen = now
	}
	return s.run(ctx)
}

// finished divides files into those that need no more texts, as far as is known here, and
// those of which a text was rejected.
func (s *sending) finished(jobs []job) (done []store.SyntaxKey, faults []fault) {
	for _, j := range jobs {
		i := slices.IndexFunc(j.texts, func(t text) bool { return s.rejected[t.hash] != nil })
		if i >= 0 {
			faults = append(faults, fault{j.file, s.m.key, s.rejected[j.texts[i].hash]})
		} else {
			done = append(done, j.key)
		}
	}
	return done, faults
}

// distinct lists the texts of files, each once.
func distinct(jobs []job) []text {
	var all []text
	seen := map[merkle.Hash]bool{}
	for _, j := range jobs {
		for _, t := range j.texts {
			if !seen[t.hash] {
				seen[t.hash] = true
				all = append(all, t)
			}
		}
	}
	return all
}

func isOutage(ctx context.Context, err error) bool {
	var retry *bus.Retry
	var drop *bus.Drop
	return ctx.Err() != nil || errors.As(err, &retry) || errors.As(err, &drop)
}
