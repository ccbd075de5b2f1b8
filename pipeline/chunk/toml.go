package chunk

import "strings"

// tomlLanguage reads tables and the keys before the first of them.
func tomlLanguage() language {
	l := structured("TOML", "tables-1", readTOML)
	l.style = style{line: []string{"#"}}
	return l
}

func readTOML(content []byte) outline {
	var o outline
	lines := indexLines(content)
	table, quote := -1, "" // the open table, and the delimiter of an open text
	end := uint32(0)
	shut := func() {
		if table >= 0 {
			o.symbols[table].end = end
		}
	}
	for i := range lines.count() {
		if lines.blank(i) {
			continue
		}
		text := string(lines.text(i))
		start := lines.starts[i+1] - uint32(len(strings.TrimLeft(string(content[lines.starts[i]:lines.starts[i+1]]), " \t")))
		inside := quote != ""
		quote = tomlQuote(text, quote)
		name, _, isKey := strings.Cut(text, "=")
		switch {
		case inside || text[0] == '#':
		case text[0] == '[' && strings.Contains(text, "]") && !isKey:
			shut()
			name := strings.Trim(text[:strings.IndexByte(text, ']')], "[] ")
			table = len(o.symbols)
			o.symbols = append(o.symbols, symbol{name: name, kind: "table", title: clip(name, maxCrumb), nameAt: start, span: span{start: start}, signature: oneLine([]byte(text))})
		case isKey && len(o.symbols) < maxKeys && lines.indents[i] == 0:
			name = strings.Trim(name, `"' `)
			o.symbols = append(o.symbols, symbol{name: name, kind: "key", title: clip(name, maxCrumb), nameAt: start, span: span{start, lines.starts[i+1]}, signature: oneLine([]byte(text)), plain: true})
		}
		if text[0] != '#' || inside {
			end = lines.starts[i+1]
		}
	}
	shut()
	return o
}

// tomlQuote is the delimiter of the text that is open after a line.
func tomlQuote(text, open string) string {
	for _, quote := range []string{`"""`, `'''`} {
		if (open == "" || open == quote) && strings.Count(text, quote)%2 == 1 {
			if open == quote {
				return ""
			}
			return quote
		}
	}
	return open
}
