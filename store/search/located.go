package search

import (
	"bytes"
	"slices"
	"strings"

	"github.com/freshet/freshet/store/lexical"
)

// named finds the definition in joined chunks whose name the query gives, -1 when none has
// it. A name that is equal goes before one of another case and one of the same words; what
// stands near the qualifier of the query, in the best chunk, and is no field or variable,
// goes before the others.
func (r *run) named(p *part, h joined, best int) int {
	info := p.File(p.ChunkFile(best))
	found, most := -1, 0
	for i := info.FirstDefinition; i < info.FirstDefinition+info.Definitions; i++ {
		chunk := p.DefinitionChunk(i)
		if chunk < h.first-p.chunkBase || chunk > h.last-p.chunkBase {
			continue
		}
		rank := 8 * r.gives(string(p.DefinitionName(i)))
		if rank == 0 {
			continue
		}
		if len(r.words.Qualifiers) > 0 && qualified(p, i, r.words.Qualifiers) {
			rank += 4
		}
		if chunk == best {
			rank += 2
		}
		switch string(p.DefinitionKind(i)) {
		case "field", "variable", "key", "heading", "selector":
		default:
			rank++
		}
		if rank > most {
			found, most = i, rank
		}
	}
	return found
}

// gives tells how well the query gives a name: 3 as it is, 2 in another case, 1 by all of
// its words, 0 not at all. Of a query of several words only those that look like the name
// of a symbol give one.
func (r *run) gives(name string) int {
	names := r.words.Identifiers
	if r.words.Symbol {
		names = []string{r.words.Name}
	}
	class := 0
	for _, given := range names {
		switch {
		case !r.words.Symbol && !lexical.LooksLikeSymbol(given):
		case given == name:
			class = 3
		case strings.EqualFold(given, name):
			class = max(class, 2)
		}
	}
	if class == 0 && len(r.words.Words) > 1 && slices.Equal(lexical.Words(name), r.words.Words) {
		class = 1
	}
	return class
}

// BestLine returns which of the lines of a text, counted from 0, holds the most words of a
// query, the first of those, or -1 when none holds any.
func BestLine(text []byte, query string) int {
	wanted := lexical.Analyze(query).Words
	best, most := -1, 0
	at := 0
	for line := range bytes.Lines(text) {
		words, held := lexical.Words(string(line)), 0
		for _, word := range wanted {
			if slices.Contains(words, word) {
				held++
			}
		}
		if held > most {
			best, most = at, held
		}
		at++
	}
	return best
}
