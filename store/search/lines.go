package search

import (
	"bytes"
	"cmp"
	"context"
	"slices"
)

// Place is where a scan for matching lines goes on: behind a line of a file, the files that
// pass the filters being in the order of their scores and paths. It holds for the snapshot,
// the query and the filters of the answer that gave it, however the snapshot is divided into
// segments. The zero value is the beginning.
type Place struct {
	File int    // how many of the files stand before it
	Line uint32 // lines of the file that are behind it
	At   uint32 // the byte at which the next line begins
	// Found counts the matches behind it; Unread and Costly the files and the lines behind
	// it that could not be looked at.
	Found, Unread, Costly int
}

// lineMatch is a match of the page.
type lineMatch struct {
	lineSpan
	part  *part
	file  int    // ordinal in the segment
	text  []byte // its lines
	score float64
	next  Place
}

// lines answers modes exact and regex: each matching line is a hit. The contents that may
// match are scanned, files in the order of the answer, from the place where an earlier
// answer stopped and until the budget is spent. Only the lines of the page are kept, the
// others counted.
func (r *run) lines(ctx context.Context) error {
	compiled, err := compilePattern(r.query)
	if err != nil {
		return err
	}
	files := r.filesInOrder(compiled)
	s := &scan{run: r, pattern: compiled, budget: r.newBudget(ctx), place: r.resume(files)}
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
	if stopped || len(s.found) > 1 || s.place.Found > r.query.From.Found+len(s.found) {
		s.rankPlaces(files)
	}
	steps := int64(markSteps)
	for _, m := range s.found {
		hit, err := r.lineHit(ctx, m)
		if err != nil {
			return err
		}
		if hit.Marks = []Mark{m.mark}; m.mark == (Mark{}) {
			hit.Marks = compiled.marks(m.text, &steps)
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

// filesInOrder lists the files that pass and that may match, by score and path. A segment
// whose trigrams are damaged is scanned whole.
func (r *run) filesInOrder(pattern *pattern) []viewFile {
	var files []viewFile
	for i := range r.corpus.parts {
		p := &r.corpus.parts[i]
		candidates, known, err := p.Candidates(pattern.query)
		known = known && err == nil
		for file := range p.Files() {
			if r.filtered.files.has(p.fileBase+file) && (!known || candidates.Has(file)) {
				files = append(files, viewFile{p, file, pathPenalty(p.Flags(file), r.words)})
			}
		}
	}
	slices.SortFunc(files, viewFile.compare)
	return files
}

func (f viewFile) compare(other viewFile) int {
	return cmp.Or(cmp.Compare(other.score, f.score), bytes.Compare(f.part.Path(f.file), other.part.Path(other.file)))
}

// rankFiles returns for each of the files that may match its place among all that pass the
// filters, and at last their number. That place holds whatever the segments can tell: they
// may be merged between two pages.
func (r *run) rankFiles(files []viewFile) []int {
	ranks := make([]int, len(files)+1)
	for i := range r.corpus.parts {
		p := &r.corpus.parts[i]
		for file := range p.Files() {
			if !r.filtered.files.has(p.fileBase + file) {
				continue
			}
			f := viewFile{p, file, pathPenalty(p.Flags(file), r.words)}
			at, found := slices.BinarySearchFunc(files, f, viewFile.compare)
			if found {
				at++
			}
			ranks[at]++ // it stands before those from there on
		}
	}
	for i := 1; i < len(ranks); i++ {
		ranks[i] += ranks[i-1]
	}
	return ranks
}

// resume returns where the scan of the files begins, by their order instead of the ranks
// that the query's place gives.
func (r *run) resume(files []viewFile) Place {
	place := r.query.From
	if place.File == 0 && place.Line == 0 {
		return place
	}
	ranks := r.rankFiles(files)
	at, found := slices.BinarySearch(ranks[:len(files)], place.File)
	if !found { // the file where it stopped cannot match
		place.Line, place.At = 0, 0
	}
	place.File = at
	return place
}

// rankPlaces has the places of the answer say ranks.
func (s *scan) rankPlaces(files []viewFile) {
	ranks := s.rankFiles(files)
	for i := range s.found {
		s.found[i].next.File = ranks[s.found[i].next.File]
	}
	s.place.File = ranks[s.place.File]
}

// lineHit makes the hit of a matching line.
func (r *run) lineHit(ctx context.Context, m lineMatch) (Hit, error) {
	hit := r.fileHit(m.part, m.file, HitLine)
	hit.StartLine, hit.EndLine = m.first, m.last
	hit.ID = hitID(HitLine, hit.Path, hit.Content, m.start, m.end)
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
	hit.Definition, err = r.enclosing(ctx, m.part, m.file, m.first)
	return hit, err
}
