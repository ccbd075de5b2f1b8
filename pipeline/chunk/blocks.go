package chunk

// block is a declaration of a language with braces: the head before "{" or ";", and after "{"
// everything up to the matching "}".
type block struct {
	span      // from the first character of the head to after the end
	head span // without the brace or the semicolon
	up   int  // the index of the enclosing block, or -1
	leaf bool // ends with a semicolon
}

// blockSyntax is the comment syntax of a language for blockScanner.
type blockSyntax struct {
	lineComment string // or ""
}

// scanBlocks lists the blocks of a text in the order in which they begin, in linear time.
// Comments and strings are skipped; an unclosed block ends with the text.
func scanBlocks(content []byte, syntax blockSyntax) []block {
	s := blockScanner{content: content, syntax: syntax, up: -1, head: -1}
	for s.at < len(content) {
		s.step()
	}
	for ; s.up >= 0; s.up = s.blocks[s.up].up {
		s.blocks[s.up].end = uint32(len(content))
	}
	return s.blocks
}

type blockScanner struct {
	content []byte
	syntax  blockSyntax
	at      int
	blocks  []block
	up      int // the innermost open block
	head    int // where the head under way begins, or -1
	parens  int
}

func (s *blockScanner) step() {
	switch c := s.content[s.at]; {
	case isBlank(c):
		s.at++
	case s.starts("/*"):
		s.skipTo("*/")
	case s.syntax.lineComment != "" && s.starts(s.syntax.lineComment):
		s.skipTo("\n")
	case c == '"' || c == '\'':
		s.begin()
		s.skipString(c)
	case c == '{' && s.at > 0 && s.content[s.at-1] == '#': // interpolation: #{...}
		s.skipTo("}")
	case c == '{':
		s.begin()
		s.open(false)
		s.at++
		s.up, s.parens = len(s.blocks)-1, 0
	case c == ';' && s.parens <= 0:
		if s.head >= 0 {
			s.open(true)
			s.blocks[len(s.blocks)-1].end = uint32(s.at + 1)
		}
		s.at++
	case c == '}':
		s.close()
	default:
		switch c {
		case '(':
			s.parens++
		case ')':
			s.parens--
		}
		s.begin()
		s.at++
	}
}

// begin marks the first character of a head.
func (s *blockScanner) begin() {
	if s.head < 0 {
		s.head = s.at
	}
}

// open adds the block whose head ends here.
func (s *blockScanner) open(leaf bool) {
	start := uint32(s.head)
	s.blocks = append(s.blocks, block{span: span{start: start}, head: span{start, uint32(s.at)}, up: s.up, leaf: leaf})
	s.head = -1
}

func (s *blockScanner) close() {
	if s.head >= 0 { // the last declaration of a rule needs no semicolon
		s.open(true)
		s.blocks[len(s.blocks)-1].end = uint32(s.at)
	}
	s.at++
	s.parens = 0
	if s.up >= 0 {
		s.blocks[s.up].end = uint32(s.at)
		s.up = s.blocks[s.up].up
	}
}

func (s *blockScanner) starts(mark string) bool {
	return len(s.content)-s.at >= len(mark) && string(s.content[s.at:s.at+len(mark)]) == mark
}

// skipTo goes behind the next mark.
func (s *blockScanner) skipTo(mark string) {
	for s.at++; s.at < len(s.content); s.at++ {
		if s.starts(mark) {
			s.at += len(mark)
			return
		}
	}
}

// skipString goes behind the quote that ends a string, or to the end of the line.
func (s *blockScanner) skipString(quote byte) {
	for s.at++; s.at < len(s.content); s.at++ {
		switch s.content[s.at] {
		case '\\':
			s.at++
		case quote:
			s.at++
			return
		case '\n':
			return
		}
	}
}
