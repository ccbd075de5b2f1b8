package search

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
)

// The classes of a match by name, best first.
const (
	symbolExact    = 1.0
	symbolFolded   = 0.95 // equal but for case
	symbolSameWord = 0.9  // the same sub-words, written otherwise
	symbolPrefix   = 0.7
	symbolWords    = 0.5 // all sub-words of the query are in the name
)

// What a match is multiplied with.
const (
	qualifiedElsewhere = 0.5 // the qualifier of the query stands nowhere near
	symbolTest         = 0.7
	symbolAside        = 0.8
	symbolMinor        = 0.9 // a field, variable, key or heading
)

// symbolMatch is a definition that a query names.
type symbolMatch struct {
	part       *part
	definition int // ordinal in the segment
	score      float64
	class      float64
}

// symbols answers the symbol mode.
func (r *run) symbols(ctx context.Context) error {
	query := r.words
	var matches []symbolMatch
	for i := range r.corpus.parts {
		p := &r.corpus.parts[i]
		classes := map[int]float64{}
		if query.Name != "" {
			matchNames(p, query.Name, classes)
		}
		matchWords(p, nameWords(query), classes)
		for definition, class := range classes {
			if r.passesSymbol(p, definition) {
				matches = append(matches, symbolMatch{part: p, definition: definition, class: class,
					score: class * r.symbolWeight(p, definition)})
			}
		}
	}
	slices.SortFunc(matches, compareSymbols)
	return page(r, matches, true, func(m symbolMatch) (Hit, error) { return r.symbolHit(ctx, m) })
}

// nameWords returns the sub-words that a name must hold.
func nameWords(query lexical.Query) []string {
	if query.Name == "" {
		return query.Words
	}
	return slices.Compact(lexical.Words(query.Name))
}

func (r *run) passesSymbol(p *part, definition int) bool {
	if !r.filtered.files.has(p.fileBase + p.DefinitionFile(definition)) {
		return false
	}
	return r.filtered.kinds == nil || r.filtered.kinds[string(p.DefinitionKind(definition))]
}

// matchNames finds the definitions whose lower-cased name begins with the query's.
func matchNames(p *part, name string, classes map[int]float64) {
	lower, n := strings.ToLower(name), p.Definitions()
	at := sort.Search(n, func(i int) bool { return lowerName(p, p.ByName(i)) >= lower })
	for ; at < n; at++ {
		definition := p.ByName(at)
		folded := lowerName(p, definition)
		switch {
		case !strings.HasPrefix(folded, lower):
			return
		case string(p.DefinitionName(definition)) == name:
			classes[definition] = symbolExact
		case folded == lower:
			classes[definition] = symbolFolded
		default:
			// The more of the name the query is, the better.
			classes[definition] = symbolPrefix + 0.1*float64(len(lower))/float64(len(folded))
		}
	}
}

// matchWords finds the definitions whose names hold all the words.
func matchWords(p *part, words []string, classes map[int]float64) {
	var found []uint32
	for i, word := range words {
		list, next := p.Lookup(word).Names, found[:0:0]
		for definition, _, ok := list.Next(); ok; definition, _, ok = list.Next() {
			if i > 0 {
				if _, held := slices.BinarySearch(found, definition); !held {
					continue
				}
			}
			next = append(next, definition)
		}
		found = next
	}
	for _, definition := range found {
		name := lexical.Words(string(p.DefinitionName(int(definition))))
		class := symbolWords + 0.1*float64(len(words))/float64(len(name))
		if slices.Equal(name, words) {
			class = symbolSameWord
		}
		classes[int(definition)] = max(classes[int(definition)], class)
	}
}

// symbolWeight is what a match is multiplied with, for its qualifier, kind and file.
func (r *run) symbolWeight(p *part, definition int) float64 {
	weight := 1.0
	if qualifiers := r.words.Qualifiers; len(qualifiers) > 0 && !qualified(p, definition, qualifiers) {
		weight *= qualifiedElsewhere
	}
	switch string(p.DefinitionKind(definition)) {
	case "field", "variable", "key", "heading", "selector":
		weight *= symbolMinor
	}
	file := p.DefinitionFile(definition)
	flags := p.Flags(file)
	if flags&store.FlagTest != 0 && !r.words.Asks("test", "tests") {
		weight *= symbolTest
	}
	if flags&(store.FlagVendored|store.FlagGenerated|store.FlagDocs) != 0 {
		weight *= symbolAside
	}
	return weight
}

// qualified reports whether the last qualifier is the name of an enclosing definition, or
// stands in the breadcrumb of its chunk, or is the file's stem or folder.
func qualified(p *part, definition int, qualifiers []string) bool {
	want := qualifiers[len(qualifiers)-1]
	// An enclosing definition may be named at most as often as there are definitions.
	for steps, at := 0, p.DefinitionParent(definition); at >= 0 && steps < 64; steps++ {
		if strings.EqualFold(string(p.DefinitionName(at)), want) {
			return true
		}
		at = p.DefinitionParent(at)
	}
	crumb := p.Chunk(p.DefinitionChunk(definition)).Breadcrumb
	for _, name := range lexical.AppendIdentifiers(nil, crumb) {
		if strings.EqualFold(name, want) {
			return true
		}
	}
	elements := strings.Split(string(p.Path(p.DefinitionFile(definition))), "/")
	stem, _, _ := strings.Cut(elements[len(elements)-1], ".")
	return strings.EqualFold(stem, want) || len(elements) > 1 && strings.EqualFold(elements[len(elements)-2], want)
}

func compareSymbols(a, b symbolMatch) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	if order := bytes.Compare(a.part.Path(a.part.DefinitionFile(a.definition)),
		b.part.Path(b.part.DefinitionFile(b.definition))); order != 0 {
		return order
	}
	lineA, lineB := a.part.DefinitionLine(a.definition), b.part.DefinitionLine(b.definition)
	return cmp.Or(cmp.Compare(lineA, lineB), cmp.Compare(a.definition, b.definition))
}

// symbolHit makes the hit of a definition.
func (r *run) symbolHit(ctx context.Context, m symbolMatch) (Hit, error) {
	hit := r.fileHit(m.part, m.part.DefinitionFile(m.definition), HitSymbol)
	d, err := r.definition(ctx, m.part, m.definition)
	if err != nil {
		return Hit{}, err
	}
	hit.Definition = &d
	hit.StartLine, hit.EndLine = d.StartLine, d.EndLine
	hit.Breadcrumb = m.part.Chunk(m.part.DefinitionChunk(m.definition)).Breadcrumb
	hit.ID = hitID(HitSymbol, hit.Path, hit.Content, d.Start, d.End)
	hit.Score = m.score
	if r.query.Explain {
		hit.Explain = &Explain{Base: m.class, Boosts: map[string]float64{},
			Penalties: map[string]float64{"symbol": m.score / m.class}}
	}
	return hit, nil
}
