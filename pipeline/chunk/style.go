package chunk

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// style is how a language writes comments, as far as what stands above a definition is
// concerned.
type style struct {
	line        []string // prefixes of a comment line, longest first
	open, close string   // of a block comment
	attributes  []string // prefixes of lines that belong to the definition below
	heredoc     string   // delimiter of a documentation text that begins with an attribute
	docstring   bool     // the documentation is the first string of the body
}

var (
	slashStyle = style{line: []string{"///", "//!", "//"}, open: "/*", close: "*/", attributes: []string{"@"}}
	hashStyle  = style{line: []string{"##", "#"}}
	dashStyle  = style{line: []string{"---", "--"}}
)

// with returns the style with attributes in place of its own.
func (s style) with(attributes ...string) style {
	s.attributes = attributes
	return s
}

// maxAbove bounds how many lines above a definition may belong to it.
const maxAbove = 200

// above returns the first of the lines directly above line at that belong to it: its
// comment and its attributes.
func (s style) above(lines lineIndex, at, limit int) int {
	limit = max(limit, at-maxAbove)
	for at > limit {
		above := at - 1
		text := lines.text(above)
		switch {
		case len(text) == 0 || above == 0 && bytes.HasPrefix(text, []byte("#!")):
			return at
		case s.isAbove(text):
		case s.close != "" && bytes.HasSuffix(text, []byte(s.close)):
			for above > limit && !bytes.Contains(lines.text(above), []byte(s.open)) {
				above--
			}
			if !bytes.HasPrefix(lines.text(above), []byte(s.open)) {
				return at
			}
		case s.heredoc != "" && bytes.Equal(text, []byte(s.heredoc)):
			for above--; above > limit && !bytes.Contains(lines.text(above), []byte(s.heredoc)); {
				above--
			}
			if above < limit || !s.isAttribute(lines.text(above)) {
				return at
			}
		default:
			return at
		}
		at = above
	}
	return at
}

// isAbove reports whether text belongs to the line below.
func (s style) isAbove(text []byte) bool { return s.isLine(text) || s.isAttribute(text) }

func (s style) isLine(text []byte) bool      { return hasAnyPrefix(text, s.line) }
func (s style) isAttribute(text []byte) bool { return hasAnyPrefix(text, s.attributes) }

func hasAnyPrefix(text []byte, prefixes []string) bool {
	for _, prefix := range prefixes {
		if bytes.HasPrefix(text, []byte(prefix)) {
			return true
		}
	}
	return false
}

// maxDoc and maxSignature bound what is kept of a definition's text.
const (
	maxDoc       = 1000
	maxSignature = 300
)

// doc is the text of the comment lines among [first, end), without its marks.
func (s style) doc(lines lineIndex, first, end int) string {
	var b strings.Builder
	inBlock, inHeredoc := false, false
	for i := first; i < end && b.Len() < maxDoc; i++ {
		text := string(lines.text(i))
		switch {
		case inHeredoc:
			inHeredoc = text != s.heredoc
			if !inHeredoc {
				continue
			}
		case inBlock || s.open != "" && strings.HasPrefix(text, s.open):
			inBlock = !strings.HasSuffix(text, s.close)
			text = strings.TrimSuffix(strings.TrimPrefix(text, s.open), s.close)
			text = strings.TrimLeft(text, "*!")
		case s.isLine([]byte(text)):
			for _, prefix := range s.line {
				if rest, ok := strings.CutPrefix(text, prefix); ok {
					text = rest
					break
				}
			}
		case s.heredoc != "" && strings.HasSuffix(text, s.heredoc):
			inHeredoc = true
			continue
		default:
			continue
		}
		if text = strings.TrimSpace(text); text == "" && b.Len() == 0 {
			continue
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	return clip(strings.TrimSpace(b.String()), maxDoc)
}

// docstring is the first string of the body that begins after a signature in text.
func docstring(text []byte) string {
	text = bytes.TrimLeft(text, " \t\r\n:")
	for _, quote := range []string{`"""`, `'''`, `r"""`} {
		rest, ok := bytes.CutPrefix(text, []byte(quote))
		if !ok {
			continue
		}
		rest = rest[:min(len(rest), 2*maxDoc)]
		if end := bytes.Index(rest, []byte(quote[len(quote)-3:])); end >= 0 {
			rest = rest[:end]
		}
		var b strings.Builder
		for line := range strings.Lines(string(rest)) {
			b.WriteString(strings.TrimSpace(line))
			b.WriteByte('\n')
		}
		return clip(strings.TrimSpace(b.String()), maxDoc)
	}
	return ""
}

// signature is what a definition says before its body, on one line. It returns also the
// offset at which it stopped.
func signature(content []byte, start, nameEnd, end uint32) (string, uint32) {
	stop, depth := nameEnd, 0
	limit := min(end, nameEnd+2*maxSignature)
scan:
	for ; stop < limit; stop++ {
		switch content[stop] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '{', ';', '\n':
			if depth <= 0 {
				break scan
			}
		}
	}
	return oneLine(content[start:stop]), stop
}

// oneLine is text with its blanks folded and without what opens a body.
func oneLine(text []byte) string {
	s := strings.Join(strings.Fields(string(text)), " ")
	for _, tail := range []string{"{", "=", ":", " do", " then", "=>", "= struct", " where", ","} {
		s = strings.TrimRight(strings.TrimSuffix(s, tail), " ")
	}
	return clip(s, maxSignature)
}

// clip is the valid UTF-8 of at most n bytes of s, cut between characters.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
