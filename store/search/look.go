package search

import (
	"bytes"
	"errors"
)

// fileLook is what a pattern found in a content: every match, in order, and the lines that
// are too costly for it. The look ended before a line when it was stopped, else at the end.
type fileLook struct {
	content []byte
	err     error // why the content was not read, or the look was given up
	matches []lineSpan
	costly  []uint32 // 1-based
	stopped bool
	line    uint32 // lines that are behind it
	at      uint32 // where the next begins
	steps   int64
}

// lineSpan is the lines of a match.
type lineSpan struct {
	first, last uint32 // 1-based
	start, end  uint32 // bytes
	costly      uint32 // lines of the file before it that were not looked at
	mark        Mark   // of a pattern that goes over lines, in bytes of its lines
}

// look matches a content from a line on, as far as a budget goes.
func (p *pattern) look(content []byte, line, at uint32, b *budget) fileLook {
	l := fileLook{content: content, line: line, at: at}
	before := b.steps
	if p.across {
		l.whole(p, b)
	} else {
		l.lines(p, b)
	}
	l.steps = before - b.steps
	return l
}

// lines matches line by line.
func (l *fileLook) lines(p *pattern, b *budget) {
	hay := p.haystack(l.content)
	literals := newFinder(p.literals, hay)
	at := skipLines(hay, 0, int(l.line)) // where the line begins in hay
	for int(l.at) < len(l.content) {
		lines, next, ok := literals.nextLine(at)
		if l.end(b.take(int64((next - at) / literalBytes))) {
			return
		}
		if !ok {
			return
		}
		start := uint32(skipLines(l.content, int(l.at), lines))
		end := uint32(skipLines(l.content, int(start), 1))
		l.line, l.at, at = l.line+uint32(lines), start, next
		matched, err := p.matchLine(l.content[start:end], b)
		if errors.Is(err, errCostly) {
			l.costly, err = append(l.costly, l.line+1), nil
		}
		if l.end(err) {
			return
		}
		l.line, l.at, at = l.line+1, end, skipLines(hay, at, 1)
		b.began = true
		if matched {
			l.matches = append(l.matches, lineSpan{first: l.line, last: l.line, start: start, end: end, costly: uint32(len(l.costly))})
		}
	}
}

// end notes an error that ends the look, and reports whether it does.
func (l *fileLook) end(err error) bool {
	if l.stopped = errors.Is(err, errSpent); !l.stopped {
		l.err = err
	}
	return err != nil
}

// whole matches the rest of the content, line feeds included. A match takes its lines: the
// next one is looked for from the line after them, so that each line on which a match begins
// is in one match. When the rest costs too much, the line where it begins is named.
func (l *fileLook) whole(p *pattern, b *budget) {
	if _, _, ok := newFinder(p.literals, p.haystack(l.content)).nextLine(0); !ok {
		return
	}
	for int(l.at) < len(l.content) {
		rest := l.content[l.at:]
		cost := int64(p.size) * int64(len(rest)+1)
		if cost > b.most {
			l.costly = append(l.costly, l.line+1)
			return
		}
		if l.end(b.take(cost)) {
			return
		}
		at := p.FindIndex(rest)
		if at == nil || at[0] == len(rest) && rest[len(rest)-1] == '\n' { // behind the last line
			return
		}
		start, stop := bytes.LastIndexByte(rest[:at[0]], '\n')+1, at[1]
		if stop > at[0] && rest[stop-1] == '\n' {
			stop-- // the match ends with its line
		}
		first := l.line + uint32(bytes.Count(rest[:start], []byte{'\n'})) + 1
		m := lineSpan{
			first: first, last: first + uint32(bytes.Count(rest[start:stop], []byte{'\n'})),
			start: l.at + uint32(start), end: l.at + uint32(skipLines(rest, stop, 1)),
			mark: Mark{uint32(at[0] - start), uint32(at[1] - start)},
		}
		l.matches = append(l.matches, m)
		l.line, l.at = m.last, m.end
		b.began = true
	}
}

// finder looks for texts in another, from its beginning to its end.
type finder struct {
	hay   []byte
	texts [][]byte
	next  []int // where each text stands next, len(hay) when nowhere, -1 before it is known
}

func newFinder(texts [][]byte, hay []byte) *finder {
	f := &finder{hay: hay, texts: texts, next: make([]int, len(texts))}
	for i := range f.next {
		f.next[i] = -1
	}
	return f
}

// nextLine finds the next line, from the beginning of one on, that holds one of the texts,
// or that line when there are none: how many lines on it is, and where it begins. ok is false
// when there is no such line, and next the end. The lines must be asked for in order.
func (f *finder) nextLine(at int) (lines, next int, ok bool) {
	if at >= len(f.hay) {
		return 0, len(f.hay), false
	}
	if len(f.texts) == 0 {
		return 0, at, true
	}
	first := len(f.hay)
	for i, text := range f.texts {
		if f.next[i] < at {
			f.next[i] = len(f.hay)
			if found := bytes.Index(f.hay[at:], text); found >= 0 {
				f.next[i] = at + found
			}
		}
		first = min(first, f.next[i])
	}
	if first == len(f.hay) {
		return 0, len(f.hay), false
	}
	before := f.hay[at:first]
	return bytes.Count(before, []byte{'\n'}), at + bytes.LastIndexByte(before, '\n') + 1, true
}

// skipLines returns where the n-th line after one begins, or the end.
func skipLines(text []byte, at, n int) int {
	for ; n > 0; n-- {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// matchLine reports whether a line, given with its end, matches.
func (p *pattern) matchLine(text []byte, b *budget) (bool, error) {
	if p.plain {
		return true, nil
	}
	return b.match(p, p.trim(text))
}
