package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/freshet/freshet/store"
)

// slice is how many lines are matched between two looks at the clock.
const slice = 64

// lineMatch is the matching lines of one chunk.
type lineMatch struct {
	part        *part
	file, chunk int    // ordinals in the segment
	first, last uint32 // the first and the last matching line
	start, end  uint32 // their bytes
	lines       int
	score       float64
}

// regex answers the regex mode: contents are scanned line by line, files in the order of
// their paths, until the deadline.
func (r *run) regex(ctx context.Context) error {
	compiled, err := compilePattern(r.query.Text)
	if err != nil {
		return err
	}
	s := &scan{run: r, pattern: compiled, deadline: r.options.Now().Add(r.options.RegexDeadline)}
	complete := true
	for _, f := range r.filesByPath() {
		if err := s.file(ctx, f.part, f.file); errors.Is(err, errDeadline) {
			complete = false
			r.warn("incomplete", "the scan stopped at its deadline of %v after %d of %d files; narrow it with paths or languages",
				r.options.RegexDeadline, s.files, r.filtered.files.count())
			break
		} else if err != nil {
			return err
		}
	}
	if s.gone > 0 {
		r.warn("content_missing", "%d files were not scanned: the store does not have their contents", s.gone)
	}
	if s.cut > 0 {
		r.warn("long_lines", "%d lines were matched in their first %d bytes only", s.cut, maxLine)
	}
	slices.SortFunc(s.found, func(a, b lineMatch) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		if order := bytes.Compare(a.part.Path(a.file), b.part.Path(b.file)); order != 0 {
			return order
		}
		return cmp.Compare(a.chunk, b.chunk)
	})
	exact := complete && s.gone == 0 && s.cut == 0
	return page(r, s.found, exact, func(m lineMatch) (Hit, error) { return r.lineHit(ctx, m) })
}

var errDeadline = errors.New("deadline of the scan passed")

type viewFile struct {
	part *part
	file int
}

// filesByPath lists the files that pass, sorted by path.
func (r *run) filesByPath() []viewFile {
	files := make([]viewFile, 0, r.filtered.files.count())
	for i := range r.corpus.parts {
		p := &r.corpus.parts[i]
		for file := range p.Files() {
			if r.filtered.files.has(p.fileBase + file) {
				files = append(files, viewFile{p, file})
			}
		}
	}
	slices.SortFunc(files, func(a, b viewFile) int { return bytes.Compare(a.part.Path(a.file), b.part.Path(b.file)) })
	return files
}

// scan is one regular expression on its way through the contents.
type scan struct {
	*run
	pattern          *pattern
	deadline         time.Time
	found            []lineMatch
	files, gone, cut int
	lines            int
}

// file scans one file. By default the chunk with the most matching lines stands for it.
func (s *scan) file(ctx context.Context, p *part, file int) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	content, err := s.source.Content(ctx, p.File(file).Entry.Content)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		s.gone++
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", p.Path(file), err)
	}
	s.files++
	if !bytes.Contains(content, s.pattern.literal) {
		return nil
	}
	found, err := s.content(ctx, p, file, content)
	if err != nil || len(found) == 0 {
		return err
	}
	if !s.query.AllChunks {
		best := slices.MaxFunc(found, func(a, b lineMatch) int {
			return cmp.Or(cmp.Compare(a.lines, b.lines), cmp.Compare(b.chunk, a.chunk))
		})
		found = []lineMatch{best}
	}
	penalty := pathPenalty(p.Flags(file), s.words)
	for i := range found {
		found[i].score = penalty
	}
	s.found = append(s.found, found...)
	return nil
}

// check looks at the context and at the clock.
func (s *scan) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.options.Now().After(s.deadline) {
		return errDeadline
	}
	return nil
}

// content matches the lines of a content and gathers them by chunk.
func (s *scan) content(ctx context.Context, p *part, file int, content []byte) ([]lineMatch, error) {
	var found []lineMatch
	chunk, end := p.FileChunks(file)
	line := uint32(0)
	for at := 0; at < len(content); {
		next := len(content)
		if i := bytes.IndexByte(content[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		text := bytes.TrimRight(content[at:next], "\r\n")
		start := uint32(at)
		at = next
		line++
		if s.lines++; s.lines%slice == 0 {
			if err := s.check(ctx); err != nil {
				return nil, err
			}
		}
		if len(text) > maxLine {
			s.cut++
			text = text[:maxLine]
		}
		if !s.pattern.Match(text) {
			continue
		}
		for chunk < end && p.Chunk(chunk).End <= start {
			chunk++
		}
		if chunk == end || !s.inKinds(p, chunk) {
			continue
		}
		if n := len(found); n > 0 && found[n-1].chunk == chunk {
			m := &found[n-1]
			m.last, m.end, m.lines = line, uint32(next), m.lines+1
			continue
		}
		found = append(found, lineMatch{part: p, file: file, chunk: chunk, first: line, last: line,
			start: start, end: uint32(next), lines: 1})
	}
	return found, nil
}

func (s *scan) inKinds(p *part, chunk int) bool { return s.filtered.chunks.has(p.chunkBase + chunk) }

// lineHit makes the hit of matching lines.
func (r *run) lineHit(ctx context.Context, m lineMatch) (Hit, error) {
	hit := r.fileHit(m.part, m.file, HitChunk)
	hit.StartLine, hit.EndLine = m.first, m.last
	hit.Breadcrumb = m.part.Chunk(m.chunk).Breadcrumb
	hit.ID = hitID(HitChunk, hit.Path, hit.Content, m.start, m.end)
	hit.Score = m.score
	if r.query.Explain {
		hit.Explain = &Explain{Base: 1, Boosts: map[string]float64{"lines": float64(m.lines)},
			Penalties: map[string]float64{"path": m.score}}
	}
	var err error
	hit.Definition, err = r.firstDefinition(ctx, m.part, m.chunk)
	return hit, err
}
