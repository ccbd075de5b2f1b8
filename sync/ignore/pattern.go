package ignore

import "strings"

// pattern is one line of an ignore file.
type pattern struct {
	text     string // as written, for people
	line     int
	negative bool
	dirOnly  bool
	anchored bool   // matched against the path below the file's directory, not the name
	body     string // without "!", a leading "/" and a trailing "/"
	literal  int    // how many first bytes of body stand for themselves
	glob     *glob  // what follows them, nil when nothing does or suffix is used
	suffix   bool   // "*literal": a name that ends in body[1:]
}

// parseFile returns the patterns of an ignore file, first line first.
func parseFile(data []byte) []pattern {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if text != "" {
		text += "\n" // git ends every file with one more newline
	}
	var patterns []pattern
	for number := 1; text != ""; number++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		line = strings.TrimSuffix(line, "\r")
		line, _, _ = strings.Cut(line, "\x00")
		if p, ok := parsePattern(trimTrailingSpaces(line)); ok {
			p.line = number
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// trimTrailingSpaces removes the spaces at the end that no backslash protects.
func trimTrailingSpaces(line string) string {
	end := -1
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			if end < 0 {
				end = i
			}
			continue
		case '\\':
			if i++; i == len(line) {
				return line
			}
		}
		end = -1
	}
	if end >= 0 {
		return line[:end]
	}
	return line
}

// parsePattern compiles one line. It reports false for a line that can match nothing.
func parsePattern(line string) (pattern, bool) {
	p := pattern{text: line}
	body := line
	if strings.HasPrefix(body, "!") {
		p.negative, body = true, body[1:]
	}
	if strings.HasSuffix(body, "/") {
		p.dirOnly, body = true, body[:len(body)-1]
	}
	p.anchored = strings.Contains(body, "/")
	body = strings.TrimPrefix(body, "/")
	if body == "" {
		return p, false
	}
	p.body, p.literal = body, literalLength(body)
	rest := body[p.literal:]
	switch {
	case rest == "":
	case !p.anchored && body[0] == '*' && literalLength(body[1:]) == len(body)-1:
		p.suffix = true
	case p.anchored:
		// Git strips the literal part first, so that "**" right after it counts as
		// standing at the beginning of a pattern.
		p.glob = compile(rest, true)
	default:
		p.literal = 0
		p.glob = compile(body, false)
	}
	return p, p.glob == nil || !p.glob.never
}

// literalLength returns how many first bytes of a pattern stand for themselves.
func literalLength(s string) int {
	if i := strings.IndexAny(s, `*?[\`); i >= 0 {
		return i
	}
	return len(s)
}

// matchesName reports whether an unanchored pattern matches a base name.
func (p *pattern) matchesName(name string) bool {
	switch {
	case p.suffix:
		return strings.HasSuffix(name, p.body[1:])
	case p.glob == nil:
		return name == p.body
	}
	return p.glob.match(name)
}

// matchesPath reports whether an anchored pattern matches a path below the directory of
// its file.
func (p *pattern) matchesPath(path string) bool {
	if len(path) < p.literal || path[:p.literal] != p.body[:p.literal] {
		return false
	}
	if p.glob == nil {
		return len(path) == p.literal
	}
	return p.glob.match(path[p.literal:])
}
