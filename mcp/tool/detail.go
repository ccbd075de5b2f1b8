package tool

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// outlines reads the syntax of contents, each once, as a recipe has it.
type outlines struct {
	contents Contents
	recipe   store.Recipe
	held     map[store.SyntaxKey]store.Syntax
}

// outlinesOf reads under the recipe of a fingerprint. Without one there are no outlines.
func outlinesOf(ctx context.Context, contents Contents, fp store.Fingerprint) (*outlines, error) {
	recipe, err := contents.Recipe(ctx, fp)
	if err != nil {
		return nil, err
	}
	return &outlines{contents, recipe, map[store.SyntaxKey]store.Syntax{}}, nil
}

func (o *outlines) key(content merkle.Hash, language string) store.SyntaxKey {
	return store.SyntaxKey{Content: content, Version: o.recipe.SyntaxVersion(language)}
}

// load reads many at once.
func (o *outlines) load(ctx context.Context, keys []store.SyntaxKey) error {
	missing := slices.DeleteFunc(slices.Clone(keys), func(k store.SyntaxKey) bool {
		_, ok := o.held[k]
		return ok
	})
	if len(missing) == 0 {
		return nil
	}
	found, err := o.contents.Syntax(ctx, missing)
	for key, syntax := range found {
		o.held[key] = syntax
	}
	return err
}

// of returns the syntax of a content; ok is false when the store has none.
func (o *outlines) of(ctx context.Context, content merkle.Hash, language string) (store.Syntax, bool, error) {
	key := o.key(content, language)
	if err := o.load(ctx, []store.SyntaxKey{key}); err != nil {
		return store.Syntax{}, false, err
	}
	syntax, ok := o.held[key]
	return syntax, ok, nil
}

// locate finds a definition in a syntax: the very one when it is known, else the innermost
// one that encloses the lines. It returns -1 when there is none.
func locate(syntax store.Syntax, known *store.Definition, start, end int) int {
	best := -1
	for i, d := range syntax.Definitions {
		if known != nil {
			if d.Start == known.Start && d.End == known.End && d.Name == known.Name {
				return i
			}
			continue
		}
		covers := int(d.StartLine) <= start && int(d.EndLine) >= end
		if covers && (best < 0 || span(d) <= span(syntax.Definitions[best])) {
			best = i
		}
	}
	return best
}

// around finds the innermost definition around a line or its doc comment, one that tells
// something before the others. It returns -1 when there is none.
func around(syntax store.Syntax, line int) int {
	best := -1
	better := func(d store.Definition) bool {
		if best < 0 {
			return true
		}
		other := syntax.Definitions[best]
		if tells(d.Kind) != tells(other.Kind) {
			return tells(d.Kind)
		}
		return span(d) <= span(other)
	}
	for i, d := range syntax.Definitions {
		start := int(d.StartLine)
		if d.Doc != "" {
			start -= countLines([]byte(d.Doc))
		}
		if start <= line && line <= int(d.EndLine) && better(d) {
			best = i
		}
	}
	return best
}

// mainOf finds the definition that lines are known by: of those that begin there and tell
// something, the one with the most lines there. It returns -1 when there is none.
func mainOf(syntax store.Syntax, start, end int) int {
	best, most := -1, 0
	for i, d := range syntax.Definitions {
		if int(d.StartLine) < start || int(d.StartLine) > end || !tells(d.Kind) {
			continue
		}
		if lines := min(int(d.EndLine), end) - int(d.StartLine) + 1; lines > most {
			best, most = i, lines
		}
	}
	return best
}

func span(d store.Definition) uint32 { return d.End - d.Start }

// describe fills what the syntax knows of a definition into a hit.
func describe(hit *Hit, syntax store.Syntax, at int) {
	d := syntax.Definitions[at]
	hit.Parameters, hit.Doc = parameters(d), strings.TrimSpace(d.Doc)
	edges := Edges{}
	for _, r := range syntax.References {
		if !encloses(syntax, int(r.From), at) {
			continue // of another definition; in some languages a method stands outside of its type
		}
		switch r.Kind {
		case store.RefCall:
			edges.Calls++
		case store.RefImport:
			edges.Imports++
		case store.RefType:
			edges.Types++
		case store.RefInherit:
			edges.Inherits++
		}
		if !slices.Contains(hit.DependsOn, r.Name) && len(hit.DependsOn) < maxDependencies {
			hit.DependsOn = append(hit.DependsOn, r.Name)
		}
	}
	if edges != (Edges{}) {
		hit.Edges = &edges
	}
}

// maxDependencies is how many direct dependencies of a definition are named.
const maxDependencies = 50

// encloses reports whether a definition is another or lies in its text.
func encloses(syntax store.Syntax, at, outer int) bool {
	o := syntax.Definitions[outer]
	if at < 0 || syntax.Definitions[at].Start < o.Start || syntax.Definitions[at].End > o.End {
		return false
	}
	for steps := 0; at >= 0 && steps <= len(syntax.Definitions); steps++ {
		if at == outer {
			return true
		}
		at = int(syntax.Definitions[at].Parent)
	}
	return false
}

// parameters cuts the parameters out of a signature: what stands in the brackets after
// the name, split at the commas of the first level.
func parameters(d store.Definition) []string {
	at := strings.Index(d.Signature, d.Name)
	if at < 0 {
		return nil
	}
	rest := d.Signature[at+len(d.Name):]
	open := strings.IndexByte(rest, '(')
	if open < 0 || strings.ContainsAny(rest[:open], "={;") {
		return nil
	}
	var list []string
	depth, from := 0, open+1
	for i := open; i < len(rest); i++ {
		switch rest[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 1 {
				list, from = append(list, strings.TrimSpace(rest[from:i])), i+1
			}
		}
		if depth == 0 {
			if last := strings.TrimSpace(rest[from:i]); last != "" {
				list = append(list, last)
			}
			return list
		}
	}
	return nil
}

// sentences returns the first n sentences of a text, on one line.
func sentences(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	for i, r := range text {
		if r != '.' && r != '!' && r != '?' && r != '。' {
			continue
		}
		after := text[i+utf8.RuneLen(r):]
		next, _ := utf8.DecodeRuneInString(strings.TrimPrefix(after, " "))
		ends := after == "" || (strings.HasPrefix(after, " ") && !unicode.IsLower(next)) || r == '。'
		if ends {
			if n--; n == 0 {
				return text[:i+utf8.RuneLen(r)]
			}
		}
	}
	return text
}

// tells reports whether definitions of a kind tell what a directory is for.
func tells(kind string) bool {
	switch kind {
	case "class", "struct", "interface", "function", "method", "type", "trait", "module", "enum", "service", "message", "table":
		return true
	}
	return false
}
