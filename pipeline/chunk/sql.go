package chunk

import (
	"bytes"
	"strings"

	"github.com/freshet/freshet/store"
)

// sqlLanguage reads statements: the grammar fails on two files of three.
func sqlLanguage() language {
	l := structured("SQL", "statements-1", readSQL)
	l.style = style{line: []string{"--"}, open: "/*", close: "*/"}
	return l
}

// readSQL divides a text at its semicolons, outside of strings, comments and dollar quotes.
func readSQL(content []byte) outline {
	var o outline
	start := -1
	for at := 0; at < len(content); {
		end, code := sqlToken(content, at)
		if code && start < 0 && !isBlank(content[at]) && content[at] != ';' {
			start = at
		}
		if content[at] == ';' && start >= 0 {
			o.sqlStatement(content, span{uint32(start), uint32(at + 1)})
			start = -1
		}
		at = end
	}
	if start >= 0 {
		o.sqlStatement(content, span{uint32(start), uint32(len(content))})
	}
	return o
}

// sqlToken is the end of what begins at: a comment, which is no code, a string, or one
// character.
func sqlToken(content []byte, at int) (end int, code bool) {
	rest := content[at:]
	closed := func(from int, mark string) int {
		if i := bytes.Index(rest[min(from, len(rest)):], []byte(mark)); i >= 0 {
			return at + from + i + len(mark)
		}
		return len(content)
	}
	switch {
	case bytes.HasPrefix(rest, []byte("--")):
		return closed(2, "\n"), false
	case bytes.HasPrefix(rest, []byte("/*")):
		return closed(2, "*/"), false
	case rest[0] == '\'' || rest[0] == '"' || rest[0] == '`':
		return closed(1, string(rest[:1])), true
	case rest[0] == '$':
		n := 1
		for n < len(rest) && n < 64 && (rest[n] == '_' || rest[n] >= 'a' && rest[n] <= 'z' || rest[n] >= 'A' && rest[n] <= 'Z') {
			n++
		}
		if n < len(rest) && rest[n] == '$' {
			return closed(n+1, string(rest[:n+1])), true
		}
	}
	return at + 1, true
}

// sqlWord is a word of a statement and its offset.
type sqlWord struct {
	text string
	at   uint32
}

// maxSQLWords bounds how much of a statement is looked at for names.
const maxSQLWords = 2000

// sqlWords are the first words of a statement, names in quotes among them, without
// strings and comments.
func sqlWords(content []byte, s span) []sqlWord {
	var words []sqlWord
	start := -1
	flush := func(end int) {
		if start >= 0 {
			words = append(words, sqlWord{string(content[start:end]), uint32(start)})
			start = -1
		}
	}
	for at := int(s.start); at < int(s.end) && len(words) < maxSQLWords; {
		end, code := sqlToken(content[:s.end], at)
		c := content[at]
		switch {
		case !code || c == '\'' || end-at > 1 && c == '$' || isBlank(c) || bytes.IndexByte([]byte("(),;="), c) >= 0:
			flush(at)
		case start < 0:
			start = at
		}
		at = end
		if at >= int(s.end) {
			flush(int(s.end))
		}
	}
	return words
}

func (o *outline) sqlStatement(content []byte, s span) {
	o.statements = append(o.statements, s)
	words := sqlWords(content, s)
	if kind, name := created(words); kind != "" {
		text := content[s.start:min(s.end, s.start+2*maxSignature)]
		signature := upTo(oneLine(text), "(;")
		o.symbols = append(o.symbols, symbol{
			name: unquoted(name.text), kind: kind, nameAt: name.at, span: s, signature: clip(strings.TrimSpace(signature), maxSignature),
		})
	}
	for i := 0; i+1 < len(words); i++ {
		switch strings.ToUpper(words[i].text) {
		case "FROM", "JOIN", "INTO", "UPDATE", "REFERENCES":
			name := unquoted(words[i+1].text)
			if name != "" && !isSQLKeyword(name) && len(name) <= maxName {
				o.uses = append(o.uses, use{name: name, kind: store.RefType, at: words[i+1].at})
			}
		}
	}
}

// created is what a CREATE statement makes.
func created(words []sqlWord) (kind string, name sqlWord) {
	if len(words) < 3 || !strings.EqualFold(words[0].text, "CREATE") {
		return "", sqlWord{}
	}
	kinds := map[string]string{
		"TABLE": "table", "VIEW": "table", "FUNCTION": "function", "PROCEDURE": "function", "TRIGGER": "function",
		"TYPE": "type", "DOMAIN": "type", "INDEX": "key", "SCHEMA": "module", "SEQUENCE": "variable",
	}
	for i, word := range words[1:min(len(words), 8)] {
		if kind = kinds[strings.ToUpper(word.text)]; kind == "" {
			continue
		}
		for _, name := range words[i+2:] {
			if !isSQLKeyword(name.text) {
				return kind, name
			}
		}
		break
	}
	return "", sqlWord{}
}

func unquoted(name string) string {
	return strings.NewReplacer(`"`, "", "`", "", "[", "", "]", "").Replace(name)
}

// isSQLKeyword reports whether a word may stand where a name is looked for.
func isSQLKeyword(word string) bool {
	switch strings.ToUpper(word) {
	case "IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY", "ON", "SELECT", "SET", "AS", "LATERAL", "TABLE", "WHERE", "OF":
		return true
	}
	return false
}
