package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

// Bounds of one segment and of one read from the store while it is built.
const (
	segmentBytes = 48 << 20 // of source
	segmentFiles = 8192
	pageFiles    = 128
	largeBytes   = 4 << 20 // of source: such segments take turns among codebases
	trigramFiles = 16      // the fewest files of a segment that are worth an index of trigrams
)

func byPath(a, b store.FileEntry) int { return strings.Compare(a.Path, b.Path) }

// standard is what the files of a segment must have.
type standard struct {
	level store.Level
	rule  *store.Rule
}

// standard returns what a snapshot of a codebase needs at a level.
func (s *Sealer) standard(ctx context.Context, id store.CodebaseID, level store.Level) (standard, error) {
	failures, err := s.store.Failures(ctx, id)
	return standard{level, store.NewRule(s.opts.Recipe, failures)}, err
}

// build writes segments that hold the parts of the entries, each sorted by path, and returns
// them in order; again is how many of their bytes the index has already. When files do not have what the standard asks for, it writes none and
// returns a *tornError.
func (s *Sealer) build(ctx context.Context, id store.CodebaseID, parts [][]store.FileEntry, again int64, want standard) ([]store.SegmentID, error) {
	ids := make([]store.SegmentID, len(parts))
	var writing sync.Mutex // one segment is written to the store at a time; guards what follows
	var all tornError
	var size int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Builders)
	for i, part := range parts {
		g.Go(func() error {
			leave, err := s.turn(ctx, part)
			if err != nil {
				return err
			}
			defer leave()
			data, chunks, torn, err := s.encode(ctx, part, want)
			if err != nil {
				return err
			}
			writing.Lock()
			defer writing.Unlock()
			if all.files = append(all.files, torn...); len(all.files) > 0 {
				return nil
			}
			ids[i], err = s.store.PutSegment(ctx, id, len(part), chunks, data)
			if err == nil {
				size += int64(len(data))
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if len(all.files) > 0 {
		return nil, &all
	}
	s.note(size, min(size, again))
	return ids, nil
}

// turn waits until a segment of the entries may be built: large ones take turns, so that
// codebases that are sealed at once need no more memory than one; what an edit changed goes
// by. The returned function gives the turn back.
func (s *Sealer) turn(ctx context.Context, entries []store.FileEntry) (leave func(), err error) {
	if sizeOf(entries) < largeBytes {
		return func() {}, nil
	}
	select {
	case s.large <- struct{}{}:
		return func() { <-s.large }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func sizeOf(entries []store.FileEntry) (total int64) {
	for _, e := range entries {
		total += e.Size
	}
	return total
}

// split cuts sorted entries into runs within the bounds of a segment, and into at least
// builders runs when there are enough to keep them all busy.
func split(entries []store.FileEntry, builders int) [][]store.FileEntry {
	total, limit := sizeOf(entries), int64(segmentBytes)
	if total > segmentBytes/8 {
		limit = min(limit, total/int64(builders)+1)
	}
	var parts [][]store.FileEntry
	start, size := 0, int64(0)
	for i, e := range entries {
		if i > start && (size+e.Size > limit || i-start == segmentFiles) {
			parts = append(parts, entries[start:i])
			start, size = i, 0
		}
		size += e.Size
	}
	if start < len(entries) {
		parts = append(parts, entries[start:])
	}
	return parts
}

// encode builds the bytes of one segment, unless files are torn.
func (s *Sealer) encode(ctx context.Context, entries []store.FileEntry, want standard) (data []byte, chunks int, torn []tornFile, err error) {
	builder := segment.NewBuilder(segment.Options{
		Dimension: s.opts.Recipe.Embedding.Dimension, Trigrams: len(entries) >= trigramFiles,
	})
	for len(entries) > 0 {
		page := entries[:min(pageFiles, len(entries))]
		entries = entries[len(page):]
		files, lost, err := s.load(ctx, page, want)
		if err != nil {
			return nil, 0, nil, err
		}
		if torn = append(torn, lost...); len(torn) > 0 {
			continue
		}
		for _, f := range files {
			if err := s.add(builder, f); err != nil {
				return nil, 0, nil, err
			}
		}
	}
	if len(torn) > 0 {
		return nil, 0, torn, nil
	}
	data, err = builder.Finish()
	return data, builder.Chunks(), nil, err
}

// add adds a file. One whose syntax or vectors do not fit costs itself only: it is cut by
// lines, and stays searchable by its words.
func (s *Sealer) add(builder *segment.Builder, f segment.File) error {
	err := builder.Add(f)
	if err == nil {
		return nil
	}
	s.opts.Log.Warn("file cut by lines", "path", merkle.QuotePath(f.Entry.Path), "error", err)
	f.Syntax, f.Vectors, f.PathVector = s.opts.Fallback(f.Content), nil, nil
	return builder.Add(f)
}

// Load reads what a page of files consists of. A file without syntax is cut by lines; one
// whose content is gone from the store is listed by its path alone.
func (s *Sealer) Load(ctx context.Context, page []store.FileEntry) ([]segment.File, error) {
	files, _, err := s.load(ctx, page, standard{level: store.LevelText, rule: store.NewRule(s.opts.Recipe, nil)})
	return files, err
}

// load is Load that also returns the files that do not have what the standard asks for and
// are not parked.
func (s *Sealer) load(ctx context.Context, page []store.FileEntry, want standard) (files []segment.File, torn []tornFile, err error) {
	keys := make([]store.SyntaxKey, len(page))
	for i, e := range page {
		keys[i] = want.rule.Key(e)
	}
	syntaxes, err := s.store.Syntax(ctx, keys)
	if err = tolerate(err); err != nil {
		return nil, nil, err
	}
	var texts []merkle.Hash
	for _, syntax := range syntaxes {
		for _, c := range syntax.Chunks {
			texts = append(texts, c.TextHash)
		}
	}
	vectors, err := s.store.Vectors(ctx, want.rule.Embedding(), texts)
	if err = tolerate(err); err != nil {
		return nil, nil, err
	}
	files = make([]segment.File, len(page))
	for i, e := range page {
		content, err := s.store.Content(ctx, e.Content)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !store.IsDamage(err) {
			return nil, nil, err
		}
		syntax, ok := syntaxes[keys[i]]
		if f := want.check(e, err, syntax, ok, vectors); f != nil {
			torn = append(torn, *f)
		}
		if err != nil {
			syntax, content = store.Syntax{Cut: store.CutLines}, nil
		} else if !ok {
			syntax = s.opts.Fallback(content)
		}
		files[i] = segment.File{Entry: e, Syntax: syntax, Content: content, Vectors: vectors}
		if s.opts.Paths != nil {
			files[i].PathVector = s.opts.Paths.PathVector(e.Path)
		}
	}
	return files, torn, nil
}

// tolerate returns the error of a read of several rows unless it only names damaged ones.
// Those are as good as gone: the stages discard them when they make the work again.
func tolerate(err error) error {
	var damaged *store.DamagedError
	if errors.As(err, &damaged) {
		return nil
	}
	return err
}

// check returns the file if it does not have what the standard asks for and is not parked,
// else nil. lost is why its content cannot be read.
func (w standard) check(e store.FileEntry, lost error, syntax store.Syntax, chunked bool, vectors map[merkle.Hash]store.Vector) *tornFile {
	if w.level < store.LevelFull && lost == nil {
		return nil
	}
	missing := 0
	for _, c := range syntax.Chunks {
		if _, ok := vectors[c.TextHash]; !ok {
			missing++
		}
	}
	standing := w.rule.Standing(e, chunked && lost == nil, missing == 0)
	if standing.Settled() {
		return nil
	}
	reason := "its syntax is gone from the store"
	switch {
	case lost != nil:
		reason = "its content is gone from the store: " + lost.Error()
	case chunked:
		reason = fmt.Sprintf("the vectors of %d of its %d chunks are gone from the store", missing, len(syntax.Chunks))
	}
	return &tornFile{e, standing.Lacks, reason}
}
