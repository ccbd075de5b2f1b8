package search

import (
	"slices"
	"sort"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
)

// booster gives candidates their boosts and penalties for one query.
type booster struct {
	Ranking
	text   *texter // nil when the query is compared by vectors alone
	words  []string
	lookUp bool // the query is nothing but a name
	asks   asks
}

// asks are the sorts of files that a query asks for and that are ranked lower otherwise.
type asks struct {
	tests, docs, examples, legacy, vendored, generated, types, data bool
}

func (r *run) booster(text *texter) *booster {
	q := r.words
	return &booster{Ranking: r.ranking, text: text, words: q.Words, lookUp: q.Symbol, asks: asks{
		tests:     q.Asks("test", "tests", "testing", "spec", "specs", "fixture", "fixtures", "benchmark", "benchmarks"),
		docs:      q.Asks("doc", "docs", "documentation", "readme", "changelog", "guide", "tutorial"),
		examples:  q.Asks("example", "examples", "demo", "sample", "samples"),
		legacy:    q.Asks("legacy", "deprecated", "compat", "compatibility"),
		vendored:  q.Asks("vendor", "vendored", "dependency", "dependencies"),
		generated: q.Asks("generated", "codegen"),
		types:     q.Asks("type", "types", "typing", "declaration", "declarations", "header", "headers"),
		data:      q.Asks("json", "yaml", "yml", "toml", "xml", "csv", "ini", "data", "fixture", "fixtures"),
	}}
}

// of returns the boosts of a candidate; best is the largest base of the query.
func (b *booster) of(c *candidate, best float64) boosts {
	out := boosts{test: 1, aside: 1}
	local := c.file - c.part.fileBase
	traits := c.part.traitsOf(local)
	flags := c.part.Flags(local)
	if b.text != nil {
		if b.text.scratch.words[c.file] != 0 {
			out.path = float64(b.Path*best) * b.text.pathShare(c.file)
		}
		out.stem = float64(b.Stem*best) * b.stemShare(traits.stem)
		out.symbol = float64(b.Symbol*best) * c.defines.share(b.lookUp)
	}
	out.depth = -float64(b.Depth*best) * traits.depth
	if flags&store.FlagTest != 0 && !b.asks.tests {
		out.test = b.Test
	}
	if b.asks.aside(traits, flags) {
		out.aside = b.Aside
	}
	return out
}

// stemShare is the share of the words of a path's stem that the query holds.
func (b *booster) stemShare(stem []string) float64 {
	if len(stem) == 0 {
		return 0
	}
	n := 0
	for _, word := range stem {
		if b.holds(word) {
			n++
		}
	}
	return float64(n) / float64(len(stem))
}

// minShort is the fewest letters of a word that is taken for the beginning of a longer
// one: conf for configuration.
const minShort = 4

// holds reports whether a word of the query is a word, has it for a form, or begins with
// it.
func (b *booster) holds(word string) bool {
	if !b.Inflect {
		return slices.Contains(b.words, word)
	}
	for i, w := range b.words {
		if w == word || len(word) >= minShort && strings.HasPrefix(w, word) ||
			i < len(b.text.forms) && slices.Contains(b.text.forms[i], word) {
			return true
		}
	}
	return false
}

// aside reports whether a file is of a sort that the query does not ask for: documents,
// vendored, generated, examples, legacy, data, declarations without bodies.
func (a asks) aside(t *traits, flags store.FileFlags) bool {
	return flags&store.FlagDocs != 0 && !a.docs || flags&store.FlagVendored != 0 && !a.vendored ||
		flags&store.FlagGenerated != 0 && !a.generated || t.data && !a.data ||
		t.declares && !a.types || t.example && !a.examples || t.legacy && !a.legacy
}

// maxDefining bounds the chunks that a name brings in: one that more chunks define says
// nothing.
const maxDefining = 100

// definedness is how a chunk defines a symbol that the query names.
type definedness uint8

const (
	undefined   definedness = iota
	definedLike             // in another case
	defined
	definedType
)

// share is the share of Ranking.Symbol.
func (d definedness) share(name bool) float64 {
	share := 0.0
	switch d {
	case definedLike:
		share = otherCase
	case defined:
		share = 1
	case definedType:
		share = typeShare
	}
	if name {
		share *= lookUp
	}
	return share
}

// defining returns the live chunks that pass and define a symbol which the query names.
func (r *run) defining() map[uint32]definedness {
	all := map[uint32]definedness{}
	for _, name := range r.words.Identifiers {
		if !r.names(name) {
			continue
		}
		found := r.definers(name)
		if len(found) > maxDefining {
			continue
		}
		for chunk, how := range found {
			all[chunk] = max(all[chunk], how)
		}
	}
	return all
}

// names reports whether a query means a symbol by an identifier: a small word in a sentence
// is just a word.
func (r *run) names(identifier string) bool {
	return len(identifier) >= 3 && (r.words.Symbol || identifier != strings.ToLower(identifier) ||
		lexical.LooksLikeSymbol(identifier))
}

// definers returns the live chunks that pass and define a name, compared in lower case.
func (r *run) definers(name string) map[uint32]definedness {
	lower := strings.ToLower(name)
	found := map[uint32]definedness{}
	for i := range r.corpus.parts {
		p := &r.corpus.parts[i]
		n := p.Definitions()
		at := sort.Search(n, func(i int) bool { return lowerName(p, p.ByName(i)) >= lower })
		for ; at < n && lowerName(p, p.ByName(at)) == lower; at++ {
			d := p.ByName(at)
			chunk := p.chunkBase + p.DefinitionChunk(d)
			if !r.filtered.chunks.has(chunk) {
				continue
			}
			how := definedLike
			if string(p.DefinitionName(d)) == name {
				how = defined
				if isType(p.DefinitionKind(d)) {
					how = definedType
				}
			}
			found[uint32(chunk)] = max(found[uint32(chunk)], how)
		}
	}
	return found
}

// isType reports whether a kind of definition is that of a type or of a module.
func isType(kind []byte) bool {
	switch string(kind) {
	case "class", "struct", "interface", "trait", "enum", "type", "module", "protocol", "object":
		return true
	}
	return false
}

func lowerName(p *part, definition int) string {
	return strings.ToLower(string(p.DefinitionName(definition)))
}
