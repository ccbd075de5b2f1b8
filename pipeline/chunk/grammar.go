package chunk

import (
	"context"
	"embed"
	"fmt"
	"strings"

	sitter "github.com/smacker/go-tree-sitter"

	"github.com/freshet/freshet/store"
)

//go:embed queries/*.scm
var queries embed.FS

// bindingVersion names the tree-sitter runtime and its set of grammars.
const bindingVersion = "ts-20240827"

// grammar says how a language is read by tree-sitter.
type grammar struct {
	name  string // go-enry's
	query string // the file under queries
	// revision counts the changes of the query and of all else that is said here.
	revision int
	// module names the version of a grammar that does not come with the binding.
	module string
	style  style
	// keywords gives the capture name that a call of each word stands for, for a language
	// whose definitions or imports are calls, or "" for a word that is no call.
	keywords map[string]string
	// prime is parsed before each content, for a scanner that keeps state between files.
	prime string
	load  func() *sitter.Language
}

// parsed is a language that is read by a grammar.
func parsed(g grammar) language {
	if g.module == "" {
		g.module = bindingVersion
	}
	return language{
		name: g.name, version: fmt.Sprintf("%s.%d", g.module, g.revision), cut: store.CutGrammar, style: g.style,
		reader: func(limit func(int) int) (reader, error) { return newGrammarReader(g, limit) },
	}
}

// role is what a captured node of a query stands for.
type role struct {
	part  string              // of the match: name, from, until, keyword, by.keyword or statement
	use   store.ReferenceKind // a reference, whose text is the node's
	kind  string              // a definition
	plain bool
	scope bool
	upper bool // only if the name does not begin with a lower-case letter
}

// roleOf reads a capture's name:
//
//	function, class.plain    a definition, without a comment of its own
//	scope.impl               a place that is no definition
//	ref.call                 a reference of this kind
//	ref.jsx                  a call, if the name begins with a capital or has a qualifier
//	name                     the name of the definition in the same match
//	from, until              where the text of the reference begins, and before what it ends
//	keyword, by.keyword      a word, and the node whose role the language gives for it
//	statement                what is kept together while it fits
func roleOf(name string) role {
	switch name {
	case "name", "from", "until", "keyword", "by.keyword", "statement":
		return role{part: name}
	case "ref.jsx":
		return role{use: store.RefCall, upper: true}
	}
	for kind := store.RefCall; kind <= store.RefInherit; kind++ {
		if name == "ref."+kind.String() {
			return role{use: kind}
		}
	}
	kind, plain := strings.CutSuffix(name, ".plain")
	kind, scope := strings.CutPrefix(kind, "scope.")
	return role{kind: kind, plain: plain, scope: scope}
}

// grammarReader runs one query over each tree, so that the tree is walked inside C: a
// crossing from Go costs as much as parsing ten bytes.
type grammarReader struct {
	grammar  *sitter.Language
	prime    []byte
	parser   *sitter.Parser
	query    *sitter.Query
	cursor   *sitter.QueryCursor
	roles    []role
	keywords map[string]role
	limit    func(size int) int // of the steps of a parse
	steps    int                // of the last parse
}

func newGrammarReader(g grammar, limit func(int) int) (*grammarReader, error) {
	text, err := queries.ReadFile("queries/" + g.query + ".scm")
	if err != nil {
		return nil, fmt.Errorf("read query %s: %w", g.query, err)
	}
	loaded := g.load()
	query, err := sitter.NewQuery(text, loaded)
	if err != nil {
		return nil, fmt.Errorf("compile query %s: %w", g.query, err)
	}
	r := &grammarReader{
		grammar: loaded, prime: []byte(g.prime), query: query, cursor: sitter.NewQueryCursor(), limit: limit,
	}
	for i := range query.CaptureCount() {
		r.roles = append(r.roles, roleOf(query.CaptureNameForId(i)))
	}
	r.keywords = make(map[string]role, len(g.keywords))
	for word, name := range g.keywords {
		r.keywords[word] = roleOf(name)
	}
	return r, nil
}

// renew makes a new parser: one that gave up would begin the next content with the state of
// the last, and one that keeps memory allocates less for it, which are other steps.
func (r *grammarReader) renew() {
	if r.parser != nil {
		r.parser.Close()
	}
	r.parser = sitter.NewParser()
	r.parser.SetLanguage(r.grammar)
}

func (r *grammarReader) close() {
	r.cursor.Close()
	r.query.Close()
	if r.parser != nil {
		r.parser.Close()
	}
}

// maxTopLevel bounds the statements looked at in a file.
const maxTopLevel = 20_000

func (r *grammarReader) read(content []byte) (outline, error) {
	if len(r.prime) > 0 {
		tree, err := r.parse(r.prime)
		if err != nil {
			return outline{}, err
		}
		tree.Close()
	}
	tree, err := r.parse(content)
	if err != nil {
		return outline{}, err
	}
	defer tree.Close()
	text := string(content)
	root := tree.RootNode()
	o := outline{statements: statements(root, text)}
	r.cursor.Exec(r.query, root)
	for {
		match, ok := r.cursor.NextMatch()
		if !ok {
			return o, nil
		}
		r.collect(&o, text, match)
	}
}

// piece is how many bytes the lexer is given at once. Each piece is a step, so that a
// lexer which reads the rest of a content again for each token is counted.
const piece = 4 << 10

// parse parses a content, as far as its steps reach.
func (r *grammarReader) parse(content []byte) (tree *sitter.Tree, err error) {
	r.renew()
	r.parser.SetOperationLimit(r.limit(len(content)) * microsPerStep)
	r.steps = countSteps(func() {
		tree, err = r.parser.ParseInputCtx(context.Background(), nil, sitter.Input{Read: func(offset uint32, _ sitter.Point) []byte {
			addStep()
			rest := content[min(int(offset), len(content)):]
			return rest[:min(piece, len(rest))]
		}})
	})
	if err != nil && !stepsCounted {
		return nil, errTimeUsedUp
	}
	return tree, err
}

// collect adds what one match says to the outline.
func (r *grammarReader) collect(o *outline, text string, match *sitter.QueryMatch) {
	var found [8]struct {
		role role
		span span
	}
	n := 0
	s := symbol{rank: match.PatternIndex}
	var from, until *span
	var keyword role
	for _, c := range match.Captures[:min(len(match.Captures), len(found))] {
		f := &found[n]
		f.role, f.span = r.roles[c.Index], nodeSpan(c.Node, text)
		n++
		switch f.role.part {
		case "name":
			s.name, s.nameAt = strings.Trim(text[f.span.start:f.span.end], "\"'`:"), f.span.start
		case "from":
			from = &f.span
		case "until":
			until = &f.span
		case "keyword":
			keyword = r.keywords[text[f.span.start:f.span.end]]
		case "statement":
			o.statements = append(o.statements, f.span)
		}
	}
	for _, f := range found[:n] {
		if f.role.part == "by.keyword" {
			if f.role = keyword; s.name != "" && f.role.use != 0 {
				continue
			}
		}
		switch {
		case f.role.use != 0:
			r.refer(o, text, f.role, f.span, from, until)
		case f.role.kind != "":
			s.span, s.kind, s.plain, s.scope = f.span, f.role.kind, f.role.plain, f.role.scope
		}
	}
	if s.kind != "" && s.name != "" {
		o.symbols = append(o.symbols, s)
	}
}

// refer adds a reference whose text is at, from the beginning of from to before until.
func (r *grammarReader) refer(o *outline, text string, what role, at span, from, until *span) {
	start, end := at.start, at.end
	if from != nil && from.start < start {
		start = from.start
	}
	if until != nil && until.start >= start {
		end = until.start
	}
	name := text[start:end]
	if what.use == store.RefImport {
		name = importName(name)
	} else {
		name = useName(strings.TrimRight(name, "( \t\r\n"))
	}
	if what.upper && name != "" && name[0] >= 'a' && name[0] <= 'z' && !strings.Contains(name, ".") {
		return
	}
	if _, ok := r.keywords[name]; ok && what.use == store.RefCall {
		return
	}
	o.uses = append(o.uses, use{name: name, kind: what.use, at: at.start})
}

// importName is the text of an imported module without its keyword and quotes, on one
// line.
func importName(text string) string {
	text = strings.TrimPrefix(text, "import ")
	text = strings.Trim(text, " \t\r\n\"'`<>();")
	if strings.Contains(text, "\n") {
		text = strings.Join(strings.Fields(text), " ")
	}
	if len(text) > maxName {
		return ""
	}
	return text
}

// nodeSpan is the span of a node without the blanks that some grammars count to it.
func nodeSpan(node *sitter.Node, text string) span {
	end := min(node.EndByte(), uint32(len(text)))
	start := min(node.StartByte(), end)
	for start < end && isBlank(text[start]) {
		start++
	}
	for end > start && isBlank(text[end-1]) {
		end--
	}
	return span{start, end}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// statements lists the nodes below the root.
func statements(root *sitter.Node, text string) []span {
	cursor := sitter.NewTreeCursor(root)
	defer cursor.Close()
	var spans []span
	for ok := cursor.GoToFirstChild(); ok && len(spans) < maxTopLevel; ok = cursor.GoToNextSibling() {
		if s := nodeSpan(cursor.CurrentNode(), text); s.start < s.end {
			spans = append(spans, s)
		}
	}
	return spans
}
