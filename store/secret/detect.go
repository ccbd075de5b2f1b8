package secret

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// Span is a credential in a text: the bytes from Start to End, and the rule that found it.
type Span struct {
	Start, End int
	Rule       string
}

// matcher looks at a keyword that stands at data[start:end] and returns the span of a
// credential there, or false.
type matcher func(data []byte, start, end int) (Span, bool)

// detector is the automaton over the keywords of all rules, with what each calls for.
type detector struct {
	automaton *automaton
	matchers  [][]matcher // by word
	lengths   []int
}

var shared = sync.OnceValue(newDetector)

func newDetector() *detector {
	places := map[string]int{}
	d := &detector{}
	var words []string
	add := func(keyword string, m matcher) {
		keyword = string(bytes.ToLower([]byte(keyword)))
		at, ok := places[keyword]
		if !ok {
			at = len(words)
			places[keyword] = at
			words, d.matchers, d.lengths = append(words, keyword), append(d.matchers, nil), append(d.lengths, len(keyword))
		}
		d.matchers[at] = append(d.matchers[at], m)
	}
	for _, t := range tokens {
		add(t.prefix, t.match)
	}
	for _, a := range assignments() {
		for _, w := range a.words {
			for _, spelling := range spellings(w) {
				add(spelling, a.match)
			}
		}
	}
	for _, s := range structures() {
		add(s.keyword, s.match)
	}
	d.automaton = newAutomaton(words)
	return d
}

// spellings returns a word whose parts an underscore joins in the other ways that languages
// join them: api_key, api-key, api.key and, as case is not regarded, apiKey.
func spellings(word string) []string {
	if !strings.Contains(strings.Trim(word, "_="), "_") {
		return []string{word}
	}
	var all []string
	for _, joint := range []string{"_", "-", ".", ""} {
		all = append(all, strings.ReplaceAll(word, "_", joint))
	}
	return all
}

// Rules lists the names of all rules, sorted.
func Rules() []string {
	var names []string
	for _, t := range tokens {
		names = append(names, t.id)
	}
	for _, a := range assignments() {
		names = append(names, a.id)
	}
	for _, s := range structures() {
		names = append(names, s.id)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Find returns the credentials in a text, in order; they do not overlap. It is a pure
// function of the bytes and takes time in proportion to them.
func Find(data []byte) []Span {
	d := shared()
	var spans []Span
	d.automaton.each(data, func(word, end int) {
		if n := len(spans); n > 0 && end <= spans[n-1].End {
			return // inside of what was found
		}
		for _, m := range d.matchers[word] {
			if span, ok := m(data, end-d.lengths[word], end); ok {
				spans = append(spans, span)
				return
			}
		}
	})
	return merge(spans)
}

// merge sorts spans and joins those that overlap.
func merge(spans []Span) []Span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	out := spans[:1]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		if s.Start >= last.End {
			out = append(out, s)
		} else {
			last.End = max(last.End, s.End)
		}
	}
	return out
}

// Mask returns the text with its credentials covered, and where they were. The result has
// the same length and the same line ends, so that lines and offsets stay what they were:
// a span becomes "[masked RULE]" filled up with asterisks, or asterisks alone where that
// does not fit. A text without credentials is returned itself; data is never changed.
func Mask(data []byte) ([]byte, []Span) {
	spans := Find(data)
	if len(spans) == 0 {
		return data, nil
	}
	masked := bytes.Clone(data)
	for _, s := range spans {
		cover(masked[s.Start:s.End], s.Rule)
	}
	return masked, spans
}

// MaskText is Mask of a string.
func MaskText(text string) (string, []Span) {
	if !shared().automaton.any(text) {
		return text, nil
	}
	masked, spans := Mask([]byte(text))
	if len(spans) == 0 {
		return text, nil
	}
	return string(masked), spans
}

// MaskAll covers every line of a text: that of a file which is a secret by its name.
func MaskAll(data []byte) []byte {
	masked := bytes.Clone(data)
	cover(masked, "secret file")
	return masked
}

// Marker is what the cover of a credential begins with.
const Marker = "[masked "

// cover writes over a span but for its line ends.
func cover(span []byte, rule string) {
	label := Marker + rule + "]"
	first := bytes.IndexAny(span, "\r\n")
	if first < 0 {
		first = len(span)
	}
	from := 0
	if first >= len(label) {
		from = copy(span, label)
	}
	for i := from; i < len(span); i++ {
		if span[i] != '\n' && span[i] != '\r' {
			span[i] = '*'
		}
	}
}
