package mine

import "strings"

// A line is code, a comment, or blank.
type lineKind uint8

const (
	blank lineKind = iota
	code
	comment
)

type line struct {
	text   string // as it stands
	said   string // of a comment: without what marks it
	indent int
	kind   lineKind
	opens  bool // the first line of a comment of its own
}

// split cuts a file into lines and tells comments from code. A comment that stands behind
// code is code.
func split(l *language, text string) []line {
	lines := make([]line, 0, strings.Count(text, "\n")+1)
	inside := false
	for raw := range strings.SplitSeq(text, "\n") {
		raw = strings.TrimRight(raw, " \t\r")
		trimmed := strings.TrimLeft(raw, " \t")
		n := line{text: raw, indent: indentation(raw[:len(raw)-len(trimmed)])}
		switch {
		case inside:
			n.kind = comment
			said, _, closed := strings.Cut(trimmed, l.close)
			n.said, inside = bare(said), !closed
		case trimmed == "":
		case l.open != "" && opens(l, trimmed):
			n.kind, n.opens = comment, true
			_, said, _ := strings.Cut(trimmed, l.open)
			said, after, closed := strings.Cut(said, l.close)
			if closed && len(after) > 2 {
				n.kind = code
			} else {
				n.said, inside = bare(said), !closed
			}
		default:
			n.kind = code
			for _, mark := range l.line {
				if strings.HasPrefix(trimmed, mark) && !strings.HasPrefix(trimmed, "#!") && !directive(trimmed) {
					n.kind, n.said = comment, bare(trimmed[len(mark):])
				}
			}
		}
		lines = append(lines, n)
	}
	return lines
}

func opens(l *language, trimmed string) bool {
	if l.open != `"""` {
		return strings.HasPrefix(trimmed, l.open)
	}
	at := strings.Index(trimmed, l.open)
	if at < 0 {
		return false
	}
	before := trimmed[:at]
	return len(before) <= 1 || strings.HasPrefix(before, "@doc ") || strings.HasPrefix(before, "@moduledoc ") ||
		strings.HasPrefix(before, "@typedoc ")
}

// directive reports whether a line is for the preprocessor or a tool: #include, #[derive],
// //go:build.
func directive(trimmed string) bool {
	for _, prefix := range []string{"#[", "#include", "#define", "#if", "#endif", "#else", "#pragma", "#region", "#undef", "//go:"} {
		if strings.HasPrefix(trimmed, prefix) {
			return true
		}
	}
	return false
}

// bare removes what decorates a line of a comment: stars, bars, slashes, bangs.
func bare(said string) string {
	return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(said), "*/!|-#;<%="))
}

func indentation(space string) int {
	n := 0
	for _, c := range space {
		n++
		if c == '\t' {
			n += 3
		}
	}
	return n
}
