package tool

import (
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// qualifiedName is the name of a definition after those around it, as a target is written.
func qualifiedName(syntax store.Syntax, at int) string {
	names := []string{}
	for i := int32(at); i >= 0 && len(names) <= len(syntax.Definitions); i = syntax.Definitions[i].Parent {
		names = append([]string{syntax.Definitions[i].Name}, names...)
	}
	return joinNames(names)
}

// plainName is a breadcrumb without the kinds in it: "class Server > method Close" is
// Server.Close, which is a target.
func plainName(crumb string) string {
	names := strings.Split(crumb, " > ")
	for i, name := range names {
		kind, rest, ok := strings.Cut(name, " ")
		if ok && (kind == "impl" || kind == "namespace" || slices.Contains(search.Kinds(), kind)) {
			names[i] = rest
		}
	}
	return joinNames(names)
}

// joinNames joins names by dots, unless one of them is a phrase.
func joinNames(names []string) string {
	if slices.ContainsFunc(names, func(name string) bool { return strings.ContainsAny(name, " .") }) {
		return strings.Join(names, " > ")
	}
	return strings.Join(names, ".")
}
