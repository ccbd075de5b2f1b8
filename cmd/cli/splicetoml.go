package cli

import (
	"fmt"
	"strings"
)

// spliceTOML puts a table into a TOML file, in the place of one of the same name or at the
// end, and leaves every other byte as it is. It knows as much of TOML as it takes to find
// tables: a file whose brackets, quotes or lines do not add up is refused.
func spliceTOML(data, header, table string) (string, error) {
	lines := strings.SplitAfter(data, "\n")
	var kept strings.Builder
	inside, replaced := false, false
	var state tomlState
	for i, line := range lines {
		if name, ok := state.header(line); ok {
			inside = name == header
			if inside && replaced {
				return "", fmt.Errorf("line %d: the table %s is given twice", i+1, header)
			}
			if inside {
				kept.WriteString(table)
				replaced = true
			}
			if !inside && strings.HasPrefix(name, header+".") && !replaced {
				return "", fmt.Errorf("line %d: %s stands before its table", i+1, name)
			}
		}
		if err := state.line(line); err != nil {
			return "", fmt.Errorf("line %d: %w", i+1, err)
		}
		if !inside || keeps(line) {
			kept.WriteString(line)
		}
	}
	if err := state.end(); err != nil {
		return "", err
	}
	text := kept.String()
	if replaced {
		return text, nil
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if text != "" {
		text += "\n"
	}
	return text + table, nil
}

// keeps reports whether a line of a table that is replaced stays: remarks and empty lines,
// which may belong to what follows.
func keeps(line string) bool {
	trimmed := strings.TrimSpace(line)
	return trimmed == "" || strings.HasPrefix(trimmed, "#")
}

// tomlState is what a line of TOML stands in: the quotes of a string of several lines, or
// the brackets of a list or table of several lines.
type tomlState struct {
	quotes   string
	brackets []rune
}

// header returns the name of the table that a line begins, if it begins one.
func (s *tomlState) header(line string) (string, bool) {
	if s.quotes != "" || len(s.brackets) > 0 {
		return "", false
	}
	line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "[") || !strings.HasSuffix(line, "]") {
		return "", false
	}
	parts := strings.Split(strings.Trim(line, "[]"), ".")
	for i, part := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(part), `"'`)
	}
	return strings.Join(parts, "."), true
}

// line reads a line to its end.
func (s *tomlState) line(line string) error {
	fresh := s.quotes == "" && len(s.brackets) == 0
	trimmed := strings.TrimSpace(line)
	if fresh && trimmed != "" && trimmed[0] != '#' && trimmed[0] != '[' && !strings.Contains(trimmed, "=") {
		return fmt.Errorf("%.40q is neither a table nor a key with its value", trimmed)
	}
	for rest := strings.TrimRight(line, "\r\n"); rest != ""; {
		if s.quotes != "" {
			rest = s.inString(rest)
			continue
		}
		switch c := rest[0]; {
		case c == '#':
			rest = ""
			continue
		case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, "'''"):
			s.quotes = rest[:3]
		case c == '"', c == '\'':
			s.quotes = rest[:1]
		case c == '[', c == '{':
			s.brackets = append(s.brackets, rune(c)+2) // the closing one of either
		case c == ']', c == '}':
			if len(s.brackets) == 0 || s.brackets[len(s.brackets)-1] != rune(c) {
				return fmt.Errorf("%q closes nothing", c)
			}
			s.brackets = s.brackets[:len(s.brackets)-1]
		}
		rest = rest[max(1, len(s.quotes)):]
	}
	if len(s.quotes) == 1 {
		return fmt.Errorf("a string does not end")
	}
	return nil
}

// inString reads on to the end of a string, or of the line.
func (s *tomlState) inString(rest string) string {
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, s.quotes):
			rest = rest[len(s.quotes):]
			s.quotes = ""
			return rest
		case rest[0] == '\\' && s.quotes[0] == '"' && len(rest) > 1:
			rest = rest[2:]
		default:
			rest = rest[1:]
		}
	}
	return ""
}

func (s *tomlState) end() error {
	if s.quotes != "" || len(s.brackets) > 0 {
		return fmt.Errorf("a string, list or table does not end")
	}
	return nil
}
