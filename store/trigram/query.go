package trigram

import (
	"slices"
	"strings"
)

// Query says which trigrams a text holds that matches something. The zero value asks for
// nothing: every text may match. A Query must not be changed after it was made.
type Query struct {
	any  bool     // one of subs is enough, and there are no codes
	all  []uint32 // trigrams that must all be there, ascending
	subs []Query
}

// maxCodes bounds the trigrams of a query. Beyond, less is asked for.
const maxCodes = 1024

// size counts the trigrams of a query.
func (q *Query) size() int {
	n := len(q.all)
	for i := range q.subs {
		n += q.subs[i].size()
	}
	return n
}

// All reports whether the query asks for nothing.
func (q *Query) All() bool { return !q.any && len(q.all) == 0 && len(q.subs) == 0 }

// Literal is the query of the texts that hold one, in whatever case.
func Literal(text string) *Query { return trigramsOf(string(Fold(nil, []byte(text)))) }

// trigramsOf is the query of the texts that hold a folded one.
func trigramsOf(text string) *Query {
	q := &Query{}
	for line := range strings.SplitSeq(text, "\n") {
		for i := 0; i+3 <= len(line); i++ {
			q.all = append(q.all, uint32(line[i])<<16|uint32(line[i+1])<<8|uint32(line[i+2]))
		}
	}
	slices.Sort(q.all)
	q.all = slices.Compact(q.all)
	return q
}

// and is the query of the texts that both ask for.
func and(x, y *Query) *Query {
	if x.All() {
		return y
	}
	if y.All() || x.size()+y.size() > maxCodes {
		return x
	}
	q := &Query{}
	for _, part := range []*Query{x, y} {
		if part.any {
			q.subs = append(q.subs, *part)
			continue
		}
		q.all, q.subs = append(q.all, part.all...), append(q.subs, part.subs...)
	}
	slices.Sort(q.all)
	q.all = slices.Compact(q.all)
	return q
}

// or is the query of the texts that any of several ask for.
func or(queries []*Query) *Query {
	q := &Query{any: true}
	size := 0
	for _, part := range queries {
		size += part.size()
		switch {
		case size > maxCodes:
			return &Query{}
		case part.All():
			return &Query{}
		case part.any:
			q.subs = append(q.subs, part.subs...)
		default:
			q.subs = append(q.subs, *part)
		}
	}
	if len(q.subs) == 1 {
		return &q.subs[0]
	}
	return q
}

// String writes the query for a reader: trigrams that stand beside one another must all be
// there, of those between bars one.
func (q *Query) String() string {
	if q.All() {
		return "everything"
	}
	var parts []string
	for _, code := range q.all {
		parts = append(parts, string([]byte{byte(code >> 16), byte(code >> 8), byte(code)}))
	}
	for i := range q.subs {
		text := q.subs[i].String()
		if q.subs[i].any {
			text = "(" + text + ")"
		}
		parts = append(parts, text)
	}
	if q.any {
		return strings.Join(parts, " | ")
	}
	return strings.Join(parts, " ")
}
