package mine

import (
	"regexp"
	"strings"
)

// The bounds of what a person says in a query.
const (
	minSaid    = 3   // words
	maxSaid    = 400 // bytes
	minLetters = 0.75
)

// saying joins the lines of a comment: its first paragraphs up to maxSaid bytes, without
// the tags of documentation tools.
func (m *Miner) saying(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		s := l.said
		if strings.HasPrefix(s, "@") || strings.HasPrefix(s, ":param") || strings.HasPrefix(s, `\param`) ||
			strings.HasPrefix(s, "```") || strings.HasPrefix(s, ">>>") || strings.HasPrefix(s, "Parameters") ||
			strings.HasPrefix(s, "Args:") || strings.HasPrefix(s, "param ") || strings.HasPrefix(s, "# Example") {
			if b.Len() > 0 {
				break
			}
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
		if b.Len() > maxSaid {
			break
		}
	}
	said := m.tags.ReplaceAllString(b.String(), " ")
	said = strings.Join(strings.Fields(said), " ")
	if len(said) > maxSaid {
		said = said[:strings.LastIndexByte(said[:maxSaid], ' ')+1]
	}
	return said
}

// tagPattern matches the marks of documentation in comments: XML and HTML tags, {@link,
// back quotes.
func tagPattern() *regexp.Regexp {
	return regexp.MustCompile("</?[a-zA-Z][^<>]{0,80}>|\\{@[a-z]+ ?|\\\\[a-z]+ |[`*{}]")
}

// idle are the words of comments that speak of licences, tools and chores.
func idle() []string {
	return []string{"copyright", "licen", "http:", "https:", "todo", "fixme", "xxx", "hack:", "nolint", "eslint",
		"noqa", "pylint", "generated", "spdx", "all rights", "warranty", "author", "istanbul", "prettier", "rubocop",
		"@ts-", "clang-format", "autogen", "-*-", "vim:", "modified by", "inheritdoc", "deprecated"}
}

// worthwhile reports whether a saying tells anything: words, mostly letters, of no chore.
func (m *Miner) worthwhile(said string) bool {
	words, letters, others := 0, 0, 0
	inWord := false
	for i := range len(said) {
		c := said[i] | 0x20
		switch {
		case 'a' <= c && c <= 'z' || c >= 0x80:
			letters++
			if !inWord {
				words++
			}
			inWord = true
		case said[i] == ' ':
			inWord = false
		default:
			others++
			inWord = false
		}
	}
	if words < minSaid || float64(letters) < minLetters*float64(letters+others) {
		return false
	}
	lower := strings.ToLower(said)
	for _, word := range m.idle {
		if strings.Contains(lower, word) {
			return false
		}
	}
	return true
}
