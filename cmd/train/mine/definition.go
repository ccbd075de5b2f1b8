package mine

import (
	"regexp"
	"strings"

	"github.com/freshet/freshet/store/lexical"
)

// The bounds of a body.
const (
	maxBodyLines   = 60
	maxBodyBytes   = 2400
	definitionSize = 3 // lines of code from which a body is a definition's
	inlineLines    = 8
)

// definitionPattern matches a line that begins a definition and finds its name.
func definitionPattern() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:export|default|declare|abstract|async|public|private|protected|internal|static|final|` +
		`sealed|open|override|virtual|inline|unsafe|extern|const|data|case|implicit|lazy|pub(?:\([a-z]+\))?|local|partial|` +
		`fileprivate|mutating|suspend|operator|readonly|template ?<[^>]*>|@[A-Za-z.]+) +)*` +
		`(?:func(?: *\([^)]*\))?|def[a-z]*|fn|function\*?|class|struct|interface|trait|impl(?:<[^>]*>)?|enum|type|object|record|module|` +
		`protocol|extension|fun(?: *<[^>]*>)?|sub|namespace|typedef struct|actor|instance|init) +([A-Za-z_$][\w$.:?!]*)`)
}

// callablePattern matches a method of a language that has no word for it.
func callablePattern() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z_$~][\w$:~]*) *\([^;=]*(?:\{|\)|,|->|=>)[^;]*$`)
}

// named returns the name that a line of code defines, or "".
func (m *Miner) named(text string) string {
	trimmed := strings.TrimSpace(text)
	if found := m.definition.FindStringSubmatch(trimmed); found != nil {
		return found[1]
	}
	switch word, _, _ := strings.Cut(trimmed, " "); strings.TrimRight(word, "(") {
	case "if", "for", "while", "switch", "return", "else", "catch", "}", "do", "try", "case", "when", "match", "elif",
		"foreach", "throw", "new", "await", "with", "using", "lock", "assert", "raise", "go", "defer", "yield", "unless":
		return ""
	}
	if found := m.callable.FindStringSubmatch(trimmed); found != nil {
		if before, _, _ := strings.Cut(trimmed, found[1]); !strings.Contains(before, ".") {
			return found[1]
		}
	}
	return ""
}

// body returns the end of the code that begins at a line: what is indented deeper, and the
// lines that close it.
func body(l *language, lines []line, start int) (end int) {
	size := 0
	first, deeper := -1, false
	for end = start; end < len(lines) && end-start < maxBodyLines && size < maxBodyBytes; end++ {
		n := lines[end]
		size += len(n.text) + 1
		trimmed := strings.TrimSpace(n.text)
		if trimmed == "" {
			if l.paragraphs && end+1 < len(lines) && lines[end+1].indent == 0 {
				break
			}
			continue
		}
		switch {
		case first < 0:
			if n.kind == code && !attribute(trimmed) {
				first = n.indent
			}
		case n.indent > first:
			deeper = true
		case l.paragraphs && n.kind == code && lines[end-1].kind != blank:
		case n.indent == first && closes(trimmed, deeper):
		default:
			return trimmedEnd(lines, start, end)
		}
	}
	return trimmedEnd(lines, start, end)
}

func trimmedEnd(lines []line, start, end int) int {
	for end > start && lines[end-1].kind == blank {
		end--
	}
	return end
}

// attribute reports whether a line stands above the definition that it belongs to.
func attribute(trimmed string) bool {
	return strings.HasPrefix(trimmed, "@") || strings.HasPrefix(trimmed, "#[") || strings.HasPrefix(trimmed, "[") ||
		strings.HasPrefix(trimmed, "template")
}

func closes(trimmed string, deeper bool) bool {
	switch trimmed[0] {
	case '}', ')', ']':
		return true
	case '{', '#':
		return !deeper || trimmed[0] == '#'
	}
	switch word, _, _ := strings.Cut(trimmed, " "); word {
	case "end", "fi", "done", "esac", "else", "elif", "rescue", "ensure", "except", "finally", "catch", "where", "then", "private:", "public:", "protected:":
		return true
	}
	return false
}

// text joins lines of a body, comments that speak of licences left out by their place.
func text(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// without removes a name from a text, wherever it stands as a whole identifier.
func without(body, name string) string {
	var b strings.Builder
	last := 0
	for at := 0; ; {
		i := strings.Index(body[at:], name)
		if i < 0 {
			break
		}
		start, end := at+i, at+i+len(name)
		at = end
		if (start > 0 && wordByte(body[start-1])) || (end < len(body) && wordByte(body[end])) {
			continue
		}
		b.WriteString(body[last:start])
		b.WriteByte(' ')
		last = end
	}
	b.WriteString(body[last:])
	return b.String()
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// telling reports whether a name has words enough to be asked for.
func telling(name string) bool { return len(lexical.Words(name)) >= 2 }
