package search

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
)

// booster gives candidates their boosts and penalties for one query.
type booster struct {
	text  *texter // nil when the query is compared by vectors alone
	words []string
	asks  asks
}

// asks is what a query asks for that is ranked lower otherwise.
type asks struct {
	tests, docs, examples, legacy, vendored, generated, types bool
}

func (r *run) booster(text *texter) *booster {
	q := r.words
	return &booster{text: text, words: q.Words, asks: asks{
		tests:     q.Asks("test", "tests", "testing", "spec", "specs", "fixture", "fixtures", "benchmark", "benchmarks"),
		docs:      q.Asks("doc", "docs", "documentation", "readme", "changelog", "guide", "tutorial"),
		examples:  q.Asks("example", "examples", "demo", "sample", "samples"),
		legacy:    q.Asks("legacy", "deprecated", "compat", "compatibility"),
		vendored:  q.Asks("vendor", "vendored", "dependency", "dependencies"),
		generated: q.Asks("generated", "codegen"),
		types:     q.Asks("type", "types", "typing", "declaration", "declarations"),
	}}
}

// of returns the boosts of a candidate; best is the largest base of the query.
func (b *booster) of(c *candidate, best float64) boosts {
	out := boosts{test: 1, aside: 1}
	local := c.file - c.part.fileBase
	path := c.part.Path(local)
	flags := c.part.Flags(local)
	if b.text != nil {
		if b.text.scratch.words[c.file] != 0 {
			out.stem = float64(stemBoost*best) * stemShare(path, b.words)
			out.path = float64(pathBoost*best) * b.text.pathShare(c.file)
		}
		if c.defines {
			out.symbol = float64(symbolBoost * best)
		}
	}
	if flags&store.FlagTest != 0 && !b.asks.tests {
		out.test = testPenalty
	}
	if b.asks.aside(path, flags) {
		out.aside = asidePenalty
	}
	return out
}

// stemShare is the share of the words of a path's stem that the query holds.
func stemShare(path []byte, words []string) float64 {
	stem := lexical.StemTokens(string(path))
	if len(stem) == 0 {
		return 0
	}
	n := 0
	for _, word := range stem {
		if slices.Contains(words, word) {
			n++
		}
	}
	return float64(n) / float64(len(stem))
}

// aside reports whether a file is of a sort that the query does not ask for: documents,
// vendored, generated, examples, legacy, type declarations.
func (a asks) aside(path []byte, flags store.FileFlags) bool {
	switch {
	case flags&store.FlagDocs != 0 && !a.docs, flags&store.FlagVendored != 0 && !a.vendored,
		flags&store.FlagGenerated != 0 && !a.generated, bytes.HasSuffix(path, []byte(".d.ts")) && !a.types:
		return true
	case a.examples && a.legacy:
		return false
	}
	for len(path) > 0 {
		element, rest, _ := bytes.Cut(path, []byte("/"))
		path = rest
		switch string(bytes.ToLower(element)) {
		case "example", "examples", "_examples", "demo", "demos", "samples":
			if !a.examples {
				return true
			}
		case "legacy", "deprecated", "compat", "_compat":
			if !a.legacy {
				return true
			}
		}
	}
	return false
}

// maxDefining bounds the chunks that a name brings in: one that more chunks define says
// nothing.
const maxDefining = 100

// defining returns the live chunks that pass and define a symbol which the query names.
func (r *run) defining() (chunks []uint32) {
	for _, name := range r.words.Identifiers {
		if !r.names(name) {
			continue
		}
		found := r.definers(strings.ToLower(name))
		if len(found) <= maxDefining {
			chunks = append(chunks, found...)
		}
	}
	return chunks
}

// names reports whether a query means a symbol by an identifier: a small word in a sentence
// is just a word.
func (r *run) names(identifier string) bool {
	return len(identifier) >= 3 && (r.words.Symbol || identifier != strings.ToLower(identifier) ||
		lexical.LooksLikeSymbol(identifier))
}

// definers returns the live chunks that pass and define a name, compared in lower case.
func (r *run) definers(lower string) (chunks []uint32) {
	for i := range r.corpus.parts {
		p := &r.corpus.parts[i]
		n := p.Definitions()
		at := sort.Search(n, func(i int) bool { return lowerName(p, p.ByName(i)) >= lower })
		for ; at < n && lowerName(p, p.ByName(at)) == lower; at++ {
			chunk := p.chunkBase + p.DefinitionChunk(p.ByName(at))
			if r.filtered.chunks.has(chunk) {
				chunks = append(chunks, uint32(chunk))
			}
		}
	}
	slices.Sort(chunks)
	return slices.Compact(chunks)
}

func lowerName(p *part, definition int) string {
	return strings.ToLower(string(p.DefinitionName(definition)))
}
