package search

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
)

// The classes of a match by path, best first.
const (
	pathExact    = 1.0
	pathBase     = 0.95 // the last element
	pathStem     = 0.9  // the last element without its extension
	pathSuffix   = 0.85 // the last elements
	pathGlob     = 0.8
	pathContains = 0.7 // the text stands in the path
	pathWords    = 0.5 // x the share of the query's words that are in the path
)

// pathMatch is a file whose path a query names.
type pathMatch struct {
	part  *part
	file  int // ordinal in the segment
	class float64
	score float64
}

// paths answers the path mode.
func (r *run) paths() error {
	text := strings.TrimPrefix(strings.TrimSpace(r.query.Text), "./")
	var patterns *globs
	if strings.ContainsAny(text, "*?[{") {
		compiled, err := compileGlobs([]string{text})
		if err != nil {
			return &BadQuery{Field: "text", Message: "bad glob " + text}
		}
		patterns = &compiled
	}
	var matches []pathMatch
	matcher := newPathMatcher(text, r.words.Words)
	for i := range r.corpus.parts {
		p := &r.corpus.parts[i]
		matcher.enter(p)
		for file := range p.Files() {
			if !r.filtered.files.has(p.fileBase + file) {
				continue
			}
			class := 0.0
			if patterns == nil {
				class = matcher.class(p.Path(file), file)
			} else if patterns.match(string(p.Path(file))) {
				class = pathGlob
			}
			if class > 0 {
				matches = append(matches, pathMatch{p, file, class, class * pathPenalty(p.Flags(file), r.words)})
			}
		}
	}
	slices.SortFunc(matches, func(a, b pathMatch) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return bytes.Compare(a.part.Path(a.file), b.part.Path(b.file))
	})
	return page(r, matches, true, r.pathHit)
}

// pathMatcher compares paths with a text, without allocating for those that do not match.
type pathMatcher struct {
	text, lower string
	words       []string
	held        []uint8 // by file of the part, how many of the words its path holds
	buf         []byte
}

func newPathMatcher(text string, words []string) *pathMatcher {
	return &pathMatcher{text: text, lower: strings.ToLower(text), words: words[:min(len(words), MaxWords)]}
}

// enter looks up the words in the paths of a part.
func (m *pathMatcher) enter(p *part) {
	m.held = make([]uint8, p.Files())
	for _, word := range m.words {
		list := p.Lookup(word).Path
		for file, _, ok := list.Next(); ok; file, _, ok = list.Next() {
			m.held[file]++
		}
	}
}

// class returns the class of a path, 0 when it does not match.
func (m *pathMatcher) class(name []byte, file int) float64 {
	if !m.contained(name) {
		n := int(m.held[file])
		if 2*n <= len(m.words) { // fewer than most say nothing
			return 0
		}
		return pathWords * float64(n) / float64(len(m.words))
	}
	full := string(name)
	base := path.Base(full)
	stem := strings.TrimSuffix(base, path.Ext(base))
	switch {
	case full == m.text:
		return pathExact
	case strings.EqualFold(base, m.text):
		return pathBase
	case strings.EqualFold(stem, m.text):
		return pathStem
	case strings.HasSuffix(strings.ToLower(full), "/"+strings.TrimPrefix(m.lower, "/")):
		return pathSuffix
	}
	return pathContains
}

// contained reports whether the text stands in a path, but for case.
func (m *pathMatcher) contained(name []byte) bool {
	m.buf = m.buf[:0]
	for _, c := range name {
		if c >= utf8.RuneSelf {
			return strings.Contains(strings.ToLower(string(name)), m.lower)
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		m.buf = append(m.buf, c)
	}
	return bytes.Contains(m.buf, []byte(m.lower))
}

func pathPenalty(flags store.FileFlags, q lexical.Query) float64 {
	penalty := 1.0
	if flags&store.FlagTest != 0 && !q.Asks("test", "tests", "spec") {
		penalty *= symbolTest
	}
	if flags&(store.FlagVendored|store.FlagGenerated) != 0 {
		penalty *= symbolAside
	}
	return penalty
}

// pathHit makes the hit of a file.
func (r *run) pathHit(m pathMatch) (Hit, error) {
	hit := r.fileHit(m.part, m.file, HitFile)
	first, end := m.part.FileChunks(m.file)
	size := uint32(0)
	if end > first {
		last := m.part.Chunk(end - 1)
		hit.StartLine, hit.EndLine, size = 1, last.EndLine, last.End
	}
	hit.ID = hitID(HitFile, hit.Path, hit.Content, 0, size)
	hit.Score = m.score
	if r.query.Explain {
		hit.Explain = &Explain{Base: m.class, Boosts: map[string]float64{},
			Penalties: map[string]float64{"path": m.score / m.class}}
	}
	return hit, nil
}
