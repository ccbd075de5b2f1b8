package chunk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"

	"github.com/freshet/freshet/store"
)

// goOutline reads a Go file with the standard library's parser. It returns false for a
// file with syntax errors.
func goOutline(content []byte) (outline, bool) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return outline{}, false
	}
	g := goWalk{content: content, text: string(content), base: fset.File(file.Package).Base()}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			g.function(decl)
		case *ast.GenDecl:
			g.declaration(decl)
		}
	}
	return g.outline, true
}

// goWalk collects an outline from the declarations of a file.
type goWalk struct {
	outline
	content []byte
	text    string // content once more, so that names share its memory
	base    int
}

// offset is where pos lies, at most the end of the text: the parser reports positions
// past it for what is implied.
func (g *goWalk) offset(pos token.Pos) uint32 {
	return uint32(min(max(int(pos)-g.base, 0), len(g.text)))
}

func (g *goWalk) span(n ast.Node) span { return span{g.offset(n.Pos()), g.offset(n.End())} }

func (g *goWalk) use(kind store.ReferenceKind, name string, at token.Pos) {
	if name != "" {
		g.uses = append(g.uses, use{name: name, kind: kind, at: g.offset(at)})
	}
}

func (g *goWalk) function(decl *ast.FuncDecl) {
	s := symbol{name: decl.Name.Name, kind: "function", nameAt: g.offset(decl.Name.Pos()), span: g.span(decl)}
	s.start = g.offset(decl.Type.Func)
	s.signature = g.signature(s.start, decl.Type.End())
	s.doc = g.doc(decl.Doc)
	if decl.Recv != nil {
		s.kind = "method"
		for _, field := range decl.Recv.List {
			s.ownBy(receiverName(field.Type))
		}
	}
	g.symbols = append(g.symbols, s)
	g.fields(decl.Type.TypeParams, store.RefType)
	g.fields(decl.Type.Params, store.RefType)
	g.fields(decl.Type.Results, store.RefType)
	if decl.Body != nil {
		g.body(decl.Body)
	}
}

// receiverName is the name of the type that a receiver is of.
func receiverName(expr ast.Expr) string {
	for {
		switch e := expr.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.StarExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		default:
			return ""
		}
	}
}

func (g *goWalk) declaration(decl *ast.GenDecl) {
	g.statements = append(g.statements, g.statement(decl))
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.ImportSpec:
			g.use(store.RefImport, strings.Trim(spec.Path.Value, "\"`"), spec.Path.Pos())
		case *ast.ValueSpec:
			g.value(decl, spec)
		case *ast.TypeSpec:
			g.typeSpec(decl, spec)
		}
	}
}

// statement is a declaration with its comment.
func (g *goWalk) statement(decl *ast.GenDecl) span {
	s := g.span(decl)
	if decl.Doc != nil {
		s.start = g.offset(decl.Doc.Pos())
	}
	return s
}

func (g *goWalk) value(decl *ast.GenDecl, spec *ast.ValueSpec) {
	kind, word := "variable", "var "
	if decl.Tok == token.CONST {
		kind, word = "constant", "const "
	}
	for _, name := range spec.Names {
		if name.Name == "_" {
			continue
		}
		s := symbol{name: name.Name, kind: kind, nameAt: g.offset(name.Pos()), span: g.span(spec)}
		if s.signature, _ = signature(g.content, s.start, s.nameAt+uint32(len(name.Name)), s.end); decl.Lparen.IsValid() {
			s.signature = clip(word+s.signature, maxSignature)
		} else {
			s.start = g.offset(decl.Pos())
			s.signature = clip(word+s.signature, maxSignature)
		}
		s.doc = g.docOf(decl, spec.Doc)
		g.symbols = append(g.symbols, s)
	}
	g.typeUse(spec.Type, store.RefType)
	for _, value := range spec.Values {
		g.body(value)
	}
}

func (g *goWalk) typeSpec(decl *ast.GenDecl, spec *ast.TypeSpec) {
	s := symbol{name: spec.Name.Name, kind: "type", nameAt: g.offset(spec.Name.Pos()), span: g.span(spec), doc: g.docOf(decl, spec.Doc)}
	if !decl.Lparen.IsValid() {
		s.start = g.offset(decl.Pos())
	}
	members, end := (*ast.FieldList)(nil), spec.End()
	switch t := spec.Type.(type) {
	case *ast.StructType:
		s.kind, members, end = "struct", t.Fields, t.Fields.Pos()
	case *ast.InterfaceType:
		s.kind, members, end = "interface", t.Methods, t.Methods.Pos()
	default:
		g.typeUse(spec.Type, store.RefType)
	}
	s.signature = g.signature(g.offset(spec.Pos()), end)
	s.signature = clip("type "+s.signature, maxSignature)
	g.symbols = append(g.symbols, s)
	g.fields(spec.TypeParams, store.RefType)
	if members != nil {
		g.members(members)
	}
}

// members adds the fields of a struct or the methods of an interface.
func (g *goWalk) members(list *ast.FieldList) {
	for _, field := range list.List {
		if len(field.Names) == 0 {
			g.typeUse(field.Type, store.RefInherit)
			continue
		}
		kind := "field"
		if isInterfaceMethod(field) {
			kind = "method"
		}
		for _, name := range field.Names {
			end := g.offset(field.Type.End())
			g.symbols = append(g.symbols, symbol{
				name: name.Name, kind: kind, nameAt: g.offset(name.Pos()), plain: kind == "field",
				span: g.span(field), signature: g.signatureTo(g.offset(field.Names[0].Pos()), end), doc: g.memberDoc(kind, field.Doc),
			})
		}
		g.typeUse(field.Type, store.RefType)
	}
}

// isInterfaceMethod tells "Close() error" from "Close func() error".
func isInterfaceMethod(field *ast.Field) bool {
	f, ok := field.Type.(*ast.FuncType)
	return ok && !f.Func.IsValid()
}

func (g *goWalk) memberDoc(kind string, doc *ast.CommentGroup) string {
	if kind == "field" {
		return ""
	}
	return g.doc(doc)
}

func (g *goWalk) signature(start uint32, end token.Pos) string {
	return g.signatureTo(start, g.offset(end))
}

func (g *goWalk) signatureTo(start, end uint32) string {
	end = min(end, start+4*maxSignature)
	return oneLine(g.content[start:max(start, end)])
}

// docOf is the comment of a spec, or of its declaration when that holds nothing else.
func (g *goWalk) docOf(decl *ast.GenDecl, doc *ast.CommentGroup) string {
	if doc == nil && !decl.Lparen.IsValid() {
		doc = decl.Doc
	}
	return g.doc(doc)
}

func (g *goWalk) doc(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	return clip(strings.TrimSpace(group.Text()), maxDoc)
}
