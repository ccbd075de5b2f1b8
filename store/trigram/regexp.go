package trigram

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Bounds of the sets of strings that stand for an expression.
const (
	maxSet     = 24 // strings
	maxClass   = 12 // characters of a class, folded
	maxLength  = 64 // bytes of the longest
	maxRepeats = 4
)

// Regexp is the query of the texts in which an expression matches. The expression must have
// been simplified or parsed by regexp/syntax.
func Regexp(tree *syntax.Regexp) *Query {
	info := analyze(tree)
	return info.query()
}

// facts are what is known of every string that an expression matches.
type facts struct {
	// exact has every such string, folded, when known is set.
	known bool
	exact []string
	need  *Query // what else the text holds; not nil
}

func unknown() facts { return facts{need: &Query{}} }

func exactly(texts ...string) facts { return facts{known: true, exact: texts, need: &Query{}} }

// query is what the facts ask for.
func (f facts) query() *Query {
	if !f.known {
		return f.need
	}
	parts := make([]*Query, len(f.exact))
	for i, text := range f.exact {
		parts[i] = trigramsOf(text)
	}
	return and(or(parts), f.need)
}

func analyze(tree *syntax.Regexp) facts {
	switch tree.Op {
	case syntax.OpLiteral:
		return literal(tree.Rune)
	case syntax.OpCharClass:
		return class(tree.Rune)
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return exactly("")
	case syntax.OpCapture:
		return analyze(tree.Sub[0])
	case syntax.OpConcat:
		return concat(tree.Sub)
	case syntax.OpAlternate:
		return alternate(tree.Sub)
	case syntax.OpQuest:
		if sub := analyze(tree.Sub[0]); sub.known && sub.need.All() && len(sub.exact) < maxSet {
			return exactly(append([]string{""}, sub.exact...)...)
		}
		return unknown()
	case syntax.OpPlus:
		return facts{need: analyze(tree.Sub[0]).query()}
	case syntax.OpRepeat:
		return repeat(tree)
	}
	return unknown() // any character, a star, and what matches nothing
}

// literal takes a text apart at characters that also stand for bytes that are not UTF-8.
func literal(runes []rune) facts {
	text := string(runes)
	if !strings.ContainsRune(text, utf8.RuneError) {
		return exactly(string(Fold(nil, []byte(text))))
	}
	need := &Query{}
	for part := range strings.SplitSeq(text, string(utf8.RuneError)) {
		need = and(need, Literal(part))
	}
	return facts{need: need}
}

func class(ranges []rune) facts {
	var texts []string
	seen := map[rune]bool{}
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > 4*maxClass {
			return unknown()
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			folded := foldRune(r)
			if r == utf8.RuneError || len(texts) == maxClass && !seen[folded] {
				return unknown()
			}
			if !seen[folded] {
				seen[folded] = true
				texts = append(texts, string(folded))
			}
		}
	}
	if len(texts) == 0 {
		return unknown()
	}
	return exactly(texts...)
}

// concat joins what is known of neighbours as far as the sets stay small.
func concat(subs []*syntax.Regexp) facts {
	all := exactly("")
	need := &Query{} // of what stands before the run that all is of
	whole := true
	for _, sub := range subs {
		next := analyze(sub)
		if next.known && all.known {
			if joined, ok := product(all.exact, next.exact); ok {
				all = facts{known: true, exact: joined, need: and(all.need, next.need)}
				continue
			}
		}
		need, whole = and(need, all.query()), false
		all = next
	}
	if whole {
		return all
	}
	return facts{need: and(need, all.query())}
}

func product(before, after []string) ([]string, bool) {
	if len(before)*len(after) > maxSet {
		return nil, false
	}
	joined := make([]string, 0, len(before)*len(after))
	for _, x := range before {
		for _, y := range after {
			if len(x)+len(y) > maxLength && len(before)*len(after) > 1 {
				return nil, false
			}
			joined = append(joined, x+y)
		}
	}
	return joined, true
}

func alternate(subs []*syntax.Regexp) facts {
	var exact []string
	var queries []*Query
	known := true
	for _, sub := range subs {
		f := analyze(sub)
		queries = append(queries, f.query())
		if known = known && f.known && f.need.All() && len(exact)+len(f.exact) <= maxSet; known {
			exact = append(exact, f.exact...)
		}
	}
	if known {
		return exactly(exact...)
	}
	return facts{need: or(queries)}
}

// repeat writes a bounded repetition out a few times.
func repeat(tree *syntax.Regexp) facts {
	if tree.Min == 0 {
		return unknown()
	}
	times := min(tree.Min, maxRepeats)
	subs := make([]*syntax.Regexp, times)
	for i := range subs {
		subs[i] = tree.Sub[0]
	}
	f := concat(subs)
	if times == tree.Min && tree.Min == tree.Max {
		return f
	}
	return facts{need: f.query()}
}
