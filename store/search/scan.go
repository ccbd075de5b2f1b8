package search

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet/freshet/store"
)

// scan is a search for matching lines on its way through the contents.
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
	ahead := newLookAhead(ctx, s, files)
	defer ahead.stop()
	for s.place.File < len(files) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if s.budget.spent() {
			return true, nil
		}
		f := files[s.place.File]
		looked := <-ahead.next()
		s.budget.steps -= looked.steps
		switch err := looked.err; {
		case errors.Is(err, store.ErrNotFound) || store.IsDamage(err):
			s.place.Unread++
			s.unread = append(s.unread, string(f.part.Path(f.file)))
		case err != nil:
			return false, fmt.Errorf("read %s: %w", f.part.Path(f.file), err)
		}
		s.merge(f, looked)
		if looked.stopped {
			return true, nil
		}
		s.budget.began = true
		s.place.File, s.place.Line, s.place.At = s.place.File+1, 0, 0
	}
	return false, nil
}

// merge takes over what a look at a file found.
func (s *scan) merge(f viewFile, looked fileLook) {
	costly := s.place.Costly
	for _, m := range looked.matches {
		s.place.Line, s.place.At, s.place.Costly = m.last, m.end, costly+int(m.costly)
		s.take(f, looked.content, m)
	}
	s.place.Line, s.place.At, s.place.Costly = looked.line, looked.at, costly+len(looked.costly)
	for _, line := range looked.costly {
		s.costly = append(s.costly, fmt.Sprintf("%s:%d", f.part.Path(f.file), line))
	}
}

// take counts a match, and keeps it when it belongs to the page.
func (s *scan) take(f viewFile, content []byte, m lineSpan) {
	if s.filtered.kinds != nil && !s.ofKind(f, m.start) {
		return
	}
	s.place.Found++
	if s.passed < s.query.Offset {
		s.passed++
		return
	}
	if len(s.found) < s.query.Limit {
		text := append([]byte(nil), content[m.start:m.end]...)
		s.found = append(s.found, lineMatch{lineSpan: m, part: f.part, file: f.file, score: f.score, next: s.place, text: text})
	}
}

// ofKind reports whether a byte lies in a chunk that holds a definition that was asked for.
func (s *scan) ofKind(f viewFile, at uint32) bool {
	first, end := f.part.FileChunks(f.file)
	for chunk := first; chunk < end; chunk++ {
		if f.part.Chunk(chunk).End > at {
			return s.filtered.chunks.has(f.part.chunkBase + chunk)
		}
	}
	return false
}
