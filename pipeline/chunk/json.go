package chunk

// jsonLanguage reads the keys of a document; comments are let pass.
func jsonLanguage() language { return structured("JSON", "keys-1", readJSON) }

// What is read of nested data: the keys down to maxKeyDepth, and what is kept together
// down to maxDataDepth.
const (
	maxKeyDepth  = 2
	maxDataDepth = 6
	maxKeys      = 300
)

// readJSON lists the keys and values of the outer levels.
func readJSON(content []byte) outline {
	s := jsonScanner{content: content, start: -1}
	for s.at < len(content) {
		s.step()
	}
	for len(s.open) > 0 {
		s.leave()
	}
	s.value()
	return s.outline
}

// jsonLevel is an open bracket with the member that it is the value of.
type jsonLevel struct {
	start int // of the member
	key   span
	keyed bool
}

type jsonScanner struct {
	outline
	content []byte
	at      int
	open    []jsonLevel
	// The member under way: where it starts, or -1, and its key.
	start int
	key   span
	keyed bool
	last  span // the last string
	end   int  // behind the last token
}

func (s *jsonScanner) step() {
	c := s.content[s.at]
	switch {
	case isBlank(c):
		s.at++
		return
	case c == '/' && s.at+1 < len(s.content) && s.content[s.at+1] == '/':
		for s.at < len(s.content) && s.content[s.at] != '\n' {
			s.at++
		}
		return
	}
	if s.start < 0 && c != ',' && c != '}' && c != ']' {
		s.start = s.at
	}
	switch c {
	case '"':
		s.string()
		s.end = s.at
		return
	case ':':
		s.key, s.keyed = s.last, true
	case '{', '[':
		s.open = append(s.open, jsonLevel{s.start, s.key, s.keyed})
		s.start, s.keyed = -1, false
	case '}', ']':
		s.value()
		s.at++
		s.leave()
		s.end = s.at
		return
	case ',':
		s.value()
	}
	s.at++
	s.end = s.at
}

func (s *jsonScanner) string() {
	start := s.at
	for s.at++; s.at < len(s.content); s.at++ {
		if c := s.content[s.at]; c == '\\' {
			s.at++
		} else if c == '"' || c == '\n' {
			break
		}
	}
	s.at = min(s.at+1, len(s.content))
	s.last = span{uint32(start), uint32(s.at)}
}

// leave ends the innermost bracket, which ends here.
func (s *jsonScanner) leave() {
	if len(s.open) == 0 {
		return
	}
	level := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	s.start, s.key, s.keyed = level.start, level.key, level.keyed
}

// value ends the member under way.
func (s *jsonScanner) value() {
	member := span{uint32(max(s.start, 0)), uint32(s.end)}
	found, depth := s.start >= 0, len(s.open)
	key, keyed := s.key, s.keyed
	s.start, s.keyed = -1, false
	switch {
	case !found || depth > maxDataDepth:
	case keyed && depth <= maxKeyDepth && len(s.symbols) < maxKeys && key.end > key.start+2:
		name := string(s.content[key.start+1 : key.end-1])
		s.symbols = append(s.symbols, symbol{
			name: name, kind: "key", title: clip(name, maxCrumb), nameAt: key.start, span: member, plain: true,
			signature: oneLine(s.content[member.start:min(member.end, member.start+200)]),
		})
	case len(s.statements) < maxTopLevel:
		s.statements = append(s.statements, member)
	}
}
