package chunk

import (
	"bytes"
	"unicode/utf8"
)

// unit is a thing of whole lines [first, end) that is kept together while it fits: a
// definition with its comment, a statement. Its children lie inside it, sorted, without
// overlap.
type unit struct {
	first, end int
	// body is the line after the comment above the unit, or 0.
	body int
	// crumb is the unit's own part of the breadcrumb, "" for one without a name.
	crumb    string
	children []unit
}

// maxNesting bounds how deep a block is opened by its indentation; below it, lines are
// items.
const maxNesting = 64

// itemizer flattens units into items that fit.
type itemizer struct {
	lines lineIndex
	items []item
}

// itemize covers the whole content with items: the units that fit, the parts of those
// that do not, and the paragraphs between them.
func itemize(lines lineIndex, units []unit) []item {
	z := itemizer{lines: lines}
	z.units(0, lines.count(), units, "")
	return z.items
}

// units adds the lines [first, end), which units lie in, as part of group.
func (z *itemizer) units(first, end int, units []unit, group string) {
	at := first
	for i, u := range units {
		z.gap(at, u.first, group)
		at = u.end
		next := end
		if i+1 < len(units) {
			next = units[i+1].first
		}
		for at < next && z.lines.blank(at) { // blank lines end what is above them
			at++
		}
		u.end = at
		z.unit(u, group)
	}
	z.gap(at, end, group)
}

func (z *itemizer) unit(u unit, group string) {
	crumb := joinCrumbs(group, u.crumb)
	switch {
	case fits(z.lines.size(u.first, u.end), u.end-u.first):
		z.add(u.first, u.end, crumb, group)
	case u.body > u.first && fits(z.lines.size(u.body, u.end), u.end-u.body):
		z.block(u.first, u.body, crumb, 0)
		z.add(u.body, u.end, crumb, group)
	case len(u.children) > 0:
		z.units(u.first, u.end, u.children, crumb)
	default:
		z.block(u.first, u.end, crumb, 0)
	}
}

// gap adds lines that belong to no unit.
func (z *itemizer) gap(first, end int, group string) {
	if first < end {
		z.block(first, end, group, 0)
	}
}

// block adds lines whose only structure is blank lines and indentation. Items begin at
// the least indented lines: first at those after a blank line, and, where that leaves too
// much in one piece, at every one of them; then one level deeper.
func (z *itemizer) block(first, end int, crumb string, depth int) {
	starts := z.breaks(first, end, afterBlank)
	if len(starts) <= 1 && fits(z.lines.size(first, end), end-first) {
		z.add(first, end, crumb, crumb)
		return
	}
	for _, where := range []breakable{notBelowComment, anywhere} {
		if len(starts) <= 1 {
			starts = z.breaks(first, end, where)
		}
	}
	switch {
	case depth >= maxNesting:
		for i := first; i < end; i++ {
			z.line(i, crumb)
		}
		return
	case len(starts) <= 1:
		z.line(first, crumb)
		if first+1 < end {
			z.block(first+1, end, crumb, depth+1)
		}
		return
	}
	for i, start := range starts {
		stop := end
		if i+1 < len(starts) {
			stop = starts[i+1]
		}
		if fits(z.lines.size(start, stop), stop-start) {
			z.add(start, stop, crumb, crumb)
		} else {
			z.block(start, stop, crumb, depth+1)
		}
	}
}

// breakable says which of the least indented lines may begin an item.
type breakable int

const (
	afterBlank breakable = iota
	notBelowComment
	anywhere
)

// breaks lists first and the least indented lines after it that may begin an item.
func (z *itemizer) breaks(first, end int, where breakable) []int {
	least := int16(1 << 14)
	for i := first; i < end; i++ {
		if n := z.lines.indents[i]; n >= 0 && n < least && !z.closes(i) {
			least = n
		}
	}
	starts := []int{first}
	for i := first + 1; i < end; i++ {
		n := z.lines.indents[i]
		switch {
		case n < 0 || n > least || z.closes(i):
		case where == afterBlank && !z.lines.blank(i-1):
		case where == notBelowComment && z.continues(i):
		default:
			starts = append(starts, i)
		}
	}
	return starts
}

// closes reports whether line i only ends what stands above it.
func (z *itemizer) closes(i int) bool {
	text := z.lines.text(i)
	if len(text) == 0 {
		return false
	}
	switch text[0] {
	case '}', ')', ']':
		return true
	}
	return bytes.Equal(text, []byte("end")) || bytes.Equal(text, []byte("{")) || bytes.HasPrefix(text, []byte("else"))
}

// continues reports whether line i follows a comment line that belongs to it.
func (z *itemizer) continues(i int) bool {
	above := z.lines.text(i - 1)
	return bytes.HasPrefix(above, []byte("//")) || bytes.HasPrefix(above, []byte("# ")) || bytes.HasPrefix(above, []byte("--"))
}

func (z *itemizer) add(first, end int, crumb, group string) {
	if end-first == 1 && z.lines.size(first, end) > maxBytes {
		z.line(first, crumb)
		return
	}
	z.items = append(z.items, item{
		start: z.lines.starts[first], end: z.lines.starts[end], first: first, end1: end, crumb: crumb, group: group,
	})
}

// line adds line i, in parts if it is too long, cut between words or at least between
// characters.
func (z *itemizer) line(i int, crumb string) {
	start, end := z.lines.starts[i], z.lines.starts[i+1]
	for end-start > maxBytes {
		cut := start + uint32(wordEnd(z.lines.content[start:start+maxBytes]))
		z.items = append(z.items, item{start: start, end: cut, first: i, end1: i + 1, crumb: crumb, group: crumb})
		start = cut
	}
	z.items = append(z.items, item{start: start, end: end, first: i, end1: i + 1, crumb: crumb, group: crumb})
}

// wordEnd is where to end a part of text: after a blank or a separator in its second
// half, or before a character that does not end in it.
func wordEnd(text []byte) int {
	if i := bytes.LastIndexAny(text[len(text)/2:], " \t;,}>"); i >= 0 {
		return len(text)/2 + i + 1
	}
	for n := len(text) - 1; n > len(text)-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			if utf8.FullRune(text[n:]) {
				return len(text)
			}
			return n
		}
	}
	return len(text)
}
