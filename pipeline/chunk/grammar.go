package chunk

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	sitter "github.com/smacker/go-tree-sitter"

	"github.com/freshet/freshet/store"
)

//go:embed queries/*.scm
var queries embed.FS

// bindingVersion names the tree-sitter runtime and its set of grammars.
const bindingVersion = "ts-20240827"

// parsed is a language that is read by a tree-sitter grammar and the query of its name.
// queryVersion changes whenever the query does.
func parsed(name, queryFile, queryVersion string, style style, grammar func() *sitter.Language) language {
	return language{
		name: name, version: bindingVersion + "." + queryVersion, cut: store.CutGrammar, style: style,
		reader: func(deadline time.Duration) (reader, error) { return newGrammarReader(queryFile, deadline, grammar()) },
	}
}

// capture is what a captured node of a query stands for.
type capture struct {
	name  bool                // the name of the definition in the same match
	use   store.ReferenceKind // a reference, whose text is the node's
	kind  string              // a definition
	plain bool
	scope bool
}

// grammarReader runs one query over each tree, so that the tree is walked inside C: a
// crossing from Go costs as much as parsing ten bytes.
type grammarReader struct {
	grammar  *sitter.Language
	parser   *sitter.Parser
	query    *sitter.Query
	cursor   *sitter.QueryCursor
	captures []capture
	deadline time.Duration
}

func newGrammarReader(queryFile string, deadline time.Duration, grammar *sitter.Language) (*grammarReader, error) {
	text, err := queries.ReadFile("queries/" + queryFile + ".scm")
	if err != nil {
		return nil, fmt.Errorf("read query %s: %w", queryFile, err)
	}
	query, err := sitter.NewQuery(text, grammar)
	if err != nil {
		return nil, fmt.Errorf("compile query %s: %w", queryFile, err)
	}
	r := &grammarReader{grammar: grammar, query: query, cursor: sitter.NewQueryCursor(), deadline: deadline}
	for i := range query.CaptureCount() {
		r.captures = append(r.captures, captureOf(query.CaptureNameForId(i)))
	}
	r.renew()
	return r, nil
}

// captureOf reads a capture's name: "name", a kind of reference, or a kind of definition
// with ".plain" behind it if it has no comment, and "scope." before it if it is a place.
func captureOf(name string) capture {
	for kind := store.RefCall; kind <= store.RefInherit; kind++ {
		if name == "ref."+kind.String() {
			return capture{use: kind}
		}
	}
	if name == "name" {
		return capture{name: true}
	}
	kind, plain := strings.CutSuffix(name, ".plain")
	kind, scope := strings.CutPrefix(kind, "scope.")
	return capture{kind: kind, plain: plain, scope: scope}
}

// renew makes a new parser: one that gave up would begin the next content with the state
// of the last.
func (r *grammarReader) renew() {
	if r.parser != nil {
		r.parser.Close()
	}
	r.parser = sitter.NewParser()
	r.parser.SetLanguage(r.grammar)
	r.parser.SetOperationLimit(int(r.deadline.Microseconds()))
}

func (r *grammarReader) close() {
	r.cursor.Close()
	r.query.Close()
	r.parser.Close()
}

// maxTopLevel bounds the statements looked at in a file.
const maxTopLevel = 20_000

func (r *grammarReader) read(ctx context.Context, content []byte) (outline, error) {
	tree, err := r.parser.ParseCtx(ctx, nil, content)
	if err != nil {
		r.renew()
		return outline{}, err
	}
	defer tree.Close()
	root := tree.RootNode()
	o := outline{statements: statements(root)}
	text := string(content)
	r.cursor.Exec(r.query, root)
	for n := 0; ; n++ {
		match, ok := r.cursor.NextMatch()
		if !ok {
			return o, nil
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return outline{}, ctx.Err()
		}
		r.collect(&o, text, match)
	}
}

// collect adds what one match says to the outline.
func (r *grammarReader) collect(o *outline, text string, match *sitter.QueryMatch) {
	var s symbol
	for _, c := range match.Captures {
		start, end := c.Node.StartByte(), c.Node.EndByte()
		if end > uint32(len(text)) || start > end {
			continue
		}
		switch what := r.captures[c.Index]; {
		case what.name:
			s.name, s.nameAt = strings.Trim(text[start:end], "\"'`:"), start
		case what.use == store.RefImport:
			o.uses = append(o.uses, use{name: importName(text[start:end]), kind: what.use, at: start})
		case what.use != 0:
			o.uses = append(o.uses, use{name: useName(text[start:end]), kind: what.use, at: start})
		default:
			s.span, s.kind, s.plain, s.scope = span{start, end}, what.kind, what.plain, what.scope
		}
	}
	if s.kind != "" && s.name != "" {
		o.symbols = append(o.symbols, s)
	}
}

// importName is the text of an imported module without quotes, on one line.
func importName(text string) string {
	text = strings.Trim(strings.TrimSpace(text), "\"'`<>;")
	if strings.ContainsAny(text, "\n") || len(text) > maxName {
		return ""
	}
	return text
}

// statements lists the nodes below the root.
func statements(root *sitter.Node) []span {
	cursor := sitter.NewTreeCursor(root)
	defer cursor.Close()
	var spans []span
	for ok := cursor.GoToFirstChild(); ok && len(spans) < maxTopLevel; ok = cursor.GoToNextSibling() {
		node := cursor.CurrentNode()
		spans = append(spans, span{node.StartByte(), node.EndByte()})
	}
	return spans
}
