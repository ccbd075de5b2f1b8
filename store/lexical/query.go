package lexical

import "strings"

// Query is what can be told of a query text by looking at it.
type Query struct {
	// Words are the distinct tokens in order, without stop words unless nothing else is
	// there.
	Words []string
	// Identifiers are the distinct whole identifiers of the text in order, those of one
	// letter and stop words left out.
	Identifiers []string
	// Symbol is set when the whole text looks like the name of a definition: one word, or
	// identifiers joined by . :: # -> or /.
	Symbol bool
	// Qualifiers and Name are the parts of such a name: Server and Close for Server.Close.
	Qualifiers []string
	Name       string
}

// Analyze looks at a query text.
func Analyze(text string) Query {
	var q Query
	q.Words = distinct(Words(text), false)
	if len(q.Words) == 0 {
		q.Words = distinct(Words(text), true)
	}
	for _, name := range AppendIdentifiers(nil, text) {
		if len(name) > 1 && !stopWords[strings.ToLower(name)] && !contains(q.Identifiers, name) {
			q.Identifiers = append(q.Identifiers, name)
		}
	}
	if parts := SplitName(text); len(parts) > 0 {
		q.Symbol = true
		q.Qualifiers, q.Name = parts[:len(parts)-1], parts[len(parts)-1]
	}
	return q
}

// Asks reports whether the query holds one of the words, which must be lower case.
func (q Query) Asks(words ...string) bool {
	for _, word := range words {
		if contains(q.Words, word) {
			return true
		}
	}
	return false
}

// separators join the parts of a qualified name.
var separators = strings.NewReplacer("::", "\x00", "->", "\x00", ".", "\x00", "#", "\x00", "/", "\x00")

// SplitName splits a qualified name (Server.Close, std::vec::Vec, Foo#bar) into its parts,
// call brackets and a leading * or & removed. It returns nil when the text is no name.
func SplitName(text string) []string {
	name := strings.TrimSpace(text)
	name = strings.TrimSuffix(name, "()")
	name = strings.TrimLeft(name, "*&")
	if name == "" || strings.ContainsAny(name, " \t\r\n") {
		return nil
	}
	var parts []string
	for _, part := range strings.Split(separators.Replace(name), "\x00") {
		part = strings.Trim(part, "()*&")
		if part == "" {
			continue
		}
		ids := AppendIdentifiers(nil, part)
		if len(ids) != 1 || len(strings.TrimRight(part, "?!=")) != len(ids[0]) {
			return nil
		}
		parts = append(parts, part)
	}
	return parts
}

// LooksLikeSymbol reports whether an identifier is more than a plain word: it has capitals
// beyond the first letter beside small ones, an underscore, a digit or a $.
func LooksLikeSymbol(name string) bool {
	small, capital := false, false
	for i := range len(name) {
		switch classes[name[i]] {
		case upper:
			capital = capital || i > 0
		case lower:
			small = true
		case wide:
		default:
			return len(name) > 1
		}
	}
	return small && capital
}

func distinct(words []string, all bool) []string {
	var out []string
	for _, word := range words {
		if (all || !stopWords[word]) && !contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

func contains(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

// stopWords are common English words that say nothing of code.
var stopWords = set(`a an and are as at be been being but by can could did do does
	doing done each for from had has have having how i if in into is it its let me my no nor
	not of on or our out over own she should so some such than that the their them then
	there these they this those through to too up us very was we were what when where which
	while who whom whose why will with would you your`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.Fields(words) {
		out[word] = true
	}
	return out
}
