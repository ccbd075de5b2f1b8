package search

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/freshet/freshet/store"
)

// Place is where the scan of a regular expression goes on: behind a line of a file, the
// files being in the order of their scores and paths. It holds for the snapshot, the query
// and the filters of the answer that gave it. The zero value is the beginning.
type Place struct {
	File int    // in the order of the scan
	Line uint32 // lines of the file that are behind it
	At   uint32 // the byte at which the next line begins
	// Found counts the matches behind it; Unread and Costly the files and the lines behind
	// it that could not be looked at.
	Found, Unread, Costly int
}

// lineMatch is a matching line.
type lineMatch struct {
	part       *part
	file       int // ordinal in the segment
	line       uint32
	start, end uint32 // its bytes
	score      float64
	next       Place
}

// regex answers the regex mode: each matching line is a hit. Contents are scanned line by
// line, files in the order of the answer, from the place where an earlier answer stopped
// and until the budget is spent. Only the lines of the page are kept, the others counted.
func (r *run) regex(ctx context.Context) error {
	compiled, err := compilePattern(r.query.Text)
	if err != nil {
		return err
	}
	files := r.filesInOrder()
	s := &scan{run: r, pattern: compiled, budget: r.newBudget(ctx), place: r.query.From}
	stopped, err := s.files(ctx, files)
	if err != nil {
		return err
	}
	r.result.Total, r.result.Unread, r.result.UnreadCount = s.place.Found, s.unread, s.place.Unread
	rest := &NotSearched{}
	if stopped {
		rest.Files, rest.Ahead = len(files)-s.place.File, true
		r.warn("incomplete", "the scan stopped at its limit of time and work before %d of %d files were looked at; next_cursor goes on there",
			rest.Files, len(files))
	}
	if n := s.place.Unread; n > 0 {
		rest.Files += n
		r.warn("content_missing", "%d files were not scanned, because the store does not give their contents%s", n, named(s.unread))
	}
	if n := s.place.Costly; n > 0 {
		rest.Lines = n
		r.warn("long_lines", "%d lines are too long for this expression and were not looked at%s; a simpler expression looks at them", n, named(s.costly))
	}
	if r.result.TotalExact = *rest == (NotSearched{}); !r.result.TotalExact {
		r.result.NotSearched = rest
	}
	for _, m := range s.found {
		hit, err := r.lineHit(ctx, m)
		if err != nil {
			return err
		}
		r.result.Hits, r.result.Places = append(r.result.Hits, hit), append(r.result.Places, m.next)
	}
	if stopped && len(s.found) < r.query.Limit {
		r.result.Stopped = &s.place
	}
	r.warnSyntax()
	return nil
}

// named lists the first of some places after a colon.
func named(places []string) string {
	if len(places) == 0 {
		return ""
	}
	text := ": "
	for i, place := range places[:min(len(places), 5)] {
		if i > 0 {
			text += ", "
		}
		text += place
	}
	if len(places) > 5 {
		text += ", ..."
	}
	return text
}

// viewFile is a file of a view with the score of its lines.
type viewFile struct {
	part  *part
	file  int
	score float64
}

// filesInOrder lists the files that pass, by score and path.
func (r *run) filesInOrder() []viewFile {
	files := make([]viewFile, 0, r.filtered.files.count())
	for i := range r.corpus.parts {
		p := &r.corpus.parts[i]
		for file := range p.Files() {
			if r.filtered.files.has(p.fileBase + file) {
				files = append(files, viewFile{p, file, pathPenalty(p.Flags(file), r.words)})
			}
		}
	}
	slices.SortFunc(files, func(a, b viewFile) int {
		return cmp.Or(cmp.Compare(b.score, a.score), bytes.Compare(a.part.Path(a.file), b.part.Path(b.file)))
	})
	return files
}

// scan is one regular expression on its way through the contents.
type scan struct {
	*run
	pattern *pattern
	budget  *budget
	place   Place // where it stands
	passed  int   // matches before the page
	found   []lineMatch
	// unread and costly name what could not be looked at since the scan began.
	unread, costly []string
}

// files scans from the place on and reports whether the budget ended before the files did.
func (s *scan) files(ctx context.Context, files []viewFile) (stopped bool, err error) {
	for s.place.File < len(files) {
		f := files[s.place.File]
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if s.budget.spent() {
			return true, nil
		}
		content, err := s.source.Content(ctx, f.part.File(f.file).Entry.Content)
		switch {
		case errors.Is(err, store.ErrNotFound) || store.IsDamage(err):
			s.place.Unread++
			s.unread = append(s.unread, string(f.part.Path(f.file)))
		case err != nil:
			return false, fmt.Errorf("read %s: %w", f.part.Path(f.file), err)
		case bytes.Contains(content, s.pattern.literal):
			if stopped, err := s.content(f, content); stopped || err != nil {
				return stopped, err
			}
		}
		s.budget.began = true
		s.place.File, s.place.Line, s.place.At = s.place.File+1, 0, 0
	}
	return false, nil
}

// content matches the lines of a file from the place on.
func (s *scan) content(f viewFile, content []byte) (stopped bool, err error) {
	chunk, end := f.part.FileChunks(f.file)
	for int(s.place.At) < len(content) {
		start := s.place.At
		next := uint32(len(content))
		if i := bytes.IndexByte(content[start:], '\n'); i >= 0 {
			next = start + uint32(i) + 1
		}
		matched, err := s.line(content[start:next])
		switch {
		case errors.Is(err, errCostly):
			s.place.Costly++
			s.costly = append(s.costly, fmt.Sprintf("%s:%d", f.part.Path(f.file), s.place.Line+1))
		case errors.Is(err, errSpent):
			return true, nil
		case err != nil:
			return false, err
		}
		s.place.Line, s.place.At = s.place.Line+1, next
		s.budget.began = true
		if !matched {
			continue
		}
		for chunk < end && f.part.Chunk(chunk).End <= start {
			chunk++
		}
		if s.filtered.kinds != nil && (chunk == end || !s.filtered.chunks.has(f.part.chunkBase+chunk)) {
			continue
		}
		s.take(lineMatch{part: f.part, file: f.file, line: s.place.Line, start: start, end: next, score: f.score})
	}
	return false, nil
}

// line reports whether a line, given with its end, matches. A line without the text that
// every match holds costs nothing more than that look.
func (s *scan) line(text []byte) (bool, error) {
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\r'})
	if !bytes.Contains(text, s.pattern.literal) {
		return false, s.budget.take(int64(len(text) / literalBytes))
	}
	return s.budget.match(s.pattern, text)
}

// take counts a match, and keeps it when it belongs to the page.
func (s *scan) take(m lineMatch) {
	s.place.Found++
	if s.passed < s.query.Offset {
		s.passed++
		return
	}
	if len(s.found) < s.query.Limit {
		m.next = s.place
		s.found = append(s.found, m)
	}
}

// lineHit makes the hit of a matching line.
func (r *run) lineHit(ctx context.Context, m lineMatch) (Hit, error) {
	hit := r.fileHit(m.part, m.file, HitChunk)
	hit.StartLine, hit.EndLine = m.line, m.line
	hit.ID = hitID(HitChunk, hit.Path, hit.Content, m.start, m.end)
	hit.Score = m.score
	first, end := m.part.FileChunks(m.file)
	for chunk := first; chunk < end; chunk++ {
		if c := m.part.Chunk(chunk); c.Start <= m.start && m.start < c.End {
			hit.Breadcrumb = c.Breadcrumb
		}
	}
	if r.query.Explain {
		hit.Explain = &Explain{Base: 1, Boosts: map[string]float64{}, Penalties: map[string]float64{"path": m.score}}
	}
	var err error
	hit.Located = true
	hit.Definition, err = r.enclosing(ctx, m.part, m.file, m.line)
	return hit, err
}
