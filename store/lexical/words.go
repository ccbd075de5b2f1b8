package lexical

import (
	"path"
	"strings"
)

// Words returns the tokens of a text in order, repeats included.
func Words(text string) []string {
	var words []string
	var s Scanner
	s.Reset([]byte(text))
	for s.Next() {
		words = append(words, string(s.Token()))
	}
	return words
}

// PathTokens returns the tokens of a path in order, those of its extension included.
func PathTokens(path string) []string { return Words(path) }

// StemTokens returns the tokens of the last element of a path without its extension. A
// name that is all extension (.gitignore) keeps it.
func StemTokens(name string) []string {
	base := path.Base(name)
	if stem := strings.TrimSuffix(base, path.Ext(base)); stem != "" {
		base = stem
	}
	return Words(base)
}

// AppendIdentifiers appends the whole identifiers of a text (a letter, underscore or $
// followed by these or digits; letters beyond ASCII count) as parts of text, in order.
func AppendIdentifiers(dst []string, text string) []string {
	start := -1
	for i, r := range text {
		switch {
		case identifierStart(r):
			if start < 0 {
				start = i
			}
		case start >= 0 && '0' <= r && r <= '9':
		case start >= 0:
			dst = append(dst, text[start:i])
			start = -1
		}
	}
	if start >= 0 {
		dst = append(dst, text[start:])
	}
	return dst
}

func identifierStart(r rune) bool {
	if r < 0x80 {
		c := classes[byte(r)]
		return c == lower || c == upper || r == '_' || r == '$'
	}
	class, _ := runeClass([]byte(string(r)))
	return r != '\uFFFD' && (class == lower || class == upper || class == ideal)
}
