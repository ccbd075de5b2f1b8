package chunk

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/freshet/freshet/store"
)

// fields adds the types of a list of parameters.
func (g *goWalk) fields(list *ast.FieldList, kind store.ReferenceKind) {
	if list == nil {
		return
	}
	for _, field := range list.List {
		g.typeUse(field.Type, kind)
	}
}

// typeUse adds the names that a type expression is made of.
func (g *goWalk) typeUse(expr ast.Expr, kind store.ReferenceKind) {
	switch e := expr.(type) {
	case *ast.Ident:
		if types.Universe.Lookup(e.Name) == nil {
			g.use(kind, e.Name, e.Pos())
		}
	case *ast.SelectorExpr:
		g.use(kind, selector(e), e.Pos())
	case *ast.StarExpr:
		g.typeUse(e.X, kind)
	case *ast.ParenExpr:
		g.typeUse(e.X, kind)
	case *ast.Ellipsis:
		g.typeUse(e.Elt, store.RefType)
	case *ast.ArrayType:
		g.typeUse(e.Elt, store.RefType)
	case *ast.ChanType:
		g.typeUse(e.Value, store.RefType)
	case *ast.MapType:
		g.typeUse(e.Key, store.RefType)
		g.typeUse(e.Value, store.RefType)
	case *ast.FuncType:
		g.fields(e.Params, store.RefType)
		g.fields(e.Results, store.RefType)
	case *ast.StructType:
		g.fields(e.Fields, store.RefType)
	case *ast.InterfaceType:
		g.fields(e.Methods, store.RefType)
	case *ast.IndexExpr:
		g.typeUse(e.X, kind)
		g.typeUse(e.Index, store.RefType)
	case *ast.IndexListExpr:
		g.typeUse(e.X, kind)
		for _, index := range e.Indices {
			g.typeUse(index, store.RefType)
		}
	case *ast.UnaryExpr:
		g.typeUse(e.X, kind)
	case *ast.BinaryExpr:
		g.typeUse(e.X, kind)
		g.typeUse(e.Y, kind)
	}
}

// selector writes a chain of names with its dots: "s.conn.Close", or only the last name
// when it begins with something else than a name.
func selector(e *ast.SelectorExpr) string {
	var parts [8]string
	n := 0
	for expr := ast.Expr(e); n < len(parts); n++ {
		switch x := expr.(type) {
		case *ast.SelectorExpr:
			parts[len(parts)-1-n] = x.Sel.Name
			expr = x.X
			continue
		case *ast.Ident:
			parts[len(parts)-1-n] = x.Name
			return join(parts[len(parts)-1-n:])
		}
		break
	}
	return join(parts[len(parts)-n:])
}

func join(parts []string) string {
	if len(parts) == 2 {
		return parts[0] + "." + parts[1]
	}
	return strings.Join(parts, ".")
}

// body adds the calls and the types in a function's body or a value.
func (g *goWalk) body(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			g.call(n)
		case *ast.CompositeLit:
			g.typeUse(n.Type, store.RefType)
		case *ast.TypeAssertExpr:
			g.typeUse(n.Type, store.RefType)
		case *ast.ValueSpec:
			g.typeUse(n.Type, store.RefType)
		case *ast.FuncLit:
			g.typeUse(n.Type, store.RefType)
		case *ast.TypeSpec:
			g.typeUse(n.Type, store.RefType)
		case *ast.CaseClause:
			return true
		}
		return true
	})
}

func (g *goWalk) call(call *ast.CallExpr) {
	fun := ast.Unparen(call.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	switch f := fun.(type) {
	case *ast.Ident:
		if types.Universe.Lookup(f.Name) == nil {
			g.use(store.RefCall, f.Name, f.Pos())
			return
		}
		if (f.Name == "new" || f.Name == "make") && len(call.Args) > 0 {
			g.typeUse(call.Args[0], store.RefType)
		}
	case *ast.SelectorExpr:
		g.use(store.RefCall, selector(f), f.Pos())
	case *ast.ArrayType, *ast.MapType, *ast.StarExpr:
		g.typeUse(f, store.RefType)
	}
}
