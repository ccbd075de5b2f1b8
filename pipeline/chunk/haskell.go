package chunk

import (
	"cmp"
	"slices"

	sitter "github.com/smacker/go-tree-sitter"
	haskell "github.com/tree-sitter/tree-sitter-haskell/bindings/go"
)

func haskellLanguage() language {
	style := style{line: []string{"-- |", "-- ^", "---", "--"}, open: "{-", close: "-}"}
	l := parsed(grammar{
		name: "Haskell", query: "haskell", revision: 1, module: "ts-haskell-0.23.1", style: style,
		load: func() *sitter.Language { return sitter.NewLanguage(haskell.Language()) },
	})
	l.refine = func(_ []byte, o *outline) { o.symbols = joinEquations(o.symbols) }
	return l
}

// joinEquations makes one symbol of a function's signature and its equations.
func joinEquations(symbols []symbol) []symbol {
	slices.SortStableFunc(symbols, func(a, b symbol) int { return cmp.Compare(a.start, b.start) })
	joined := symbols[:0]
	last := map[string]int{} // by kind
	for _, s := range symbols {
		if s.kind == "function" || s.kind == "method" {
			if i, ok := last[s.kind]; ok && joined[i].name == s.name {
				joined[i].end = max(joined[i].end, s.end)
				continue
			}
			last[s.kind] = len(joined)
		}
		joined = append(joined, s)
	}
	return joined
}
