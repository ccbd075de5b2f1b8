package apply

import (
	"context"
	"errors"
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
)

func byPath(a, b store.FileEntry) int { return strings.Compare(a.Path, b.Path) }

// build writes segments that hold the entries, which are sorted by path, and returns them
// in order.
func (s *Sealer) build(ctx context.Context, id store.CodebaseID, entries []store.FileEntry) ([]store.SegmentID, error) {
	parts := split(entries, s.opts.Builders)
	ids := make([]store.SegmentID, len(parts))
	var writing sync.Mutex // one segment is written to the store at a time
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Builders)
	for i, part := range parts {
		g.Go(func() error {
			leave, err := s.turn(ctx, part)
			if err != nil {
				return err
			}
			defer leave()
			data, chunks, err := s.encode(ctx, part)
			if err != nil {
				return err
			}
			writing.Lock()
			defer writing.Unlock()
			ids[i], err = s.store.PutSegment(ctx, id, len(part), chunks, data)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
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

// encode builds the bytes of one segment.
func (s *Sealer) encode(ctx context.Context, entries []store.FileEntry) (data []byte, chunks int, err error) {
	builder := segment.NewBuilder(segment.Options{Dimension: s.opts.Recipe.Embedding.Dimension})
	for len(entries) > 0 {
		page := entries[:min(pageFiles, len(entries))]
		entries = entries[len(page):]
		files, err := s.Load(ctx, page)
		if err != nil {
			return nil, 0, err
		}
		for _, f := range files {
			if err := s.add(builder, f); err != nil {
				return nil, 0, err
			}
		}
	}
	data, err = builder.Finish()
	return data, builder.Chunks(), err
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
	keys := make([]store.SyntaxKey, len(page))
	for i, e := range page {
		keys[i] = store.SyntaxKey{Content: e.Content, Version: s.opts.Recipe.SyntaxVersion(e.Language)}
	}
	syntaxes, err := s.store.Syntax(ctx, keys)
	if err != nil {
		return nil, err
	}
	var texts []merkle.Hash
	for _, syntax := range syntaxes {
		for _, c := range syntax.Chunks {
			texts = append(texts, c.TextHash)
		}
	}
	vectors, err := s.store.Vectors(ctx, s.opts.Recipe.Embedding.Key(), texts)
	if err != nil {
		return nil, err
	}
	files := make([]segment.File, len(page))
	for i, e := range page {
		content, err := s.store.Content(ctx, e.Content)
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrCorrupt) {
			return nil, err
		}
		syntax, ok := syntaxes[keys[i]]
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
	return files, nil
}
