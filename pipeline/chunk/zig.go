package chunk

import (
	sitter "github.com/smacker/go-tree-sitter"
	zig "github.com/tree-sitter-grammars/tree-sitter-zig/bindings/go"
)

func zigLanguage() language {
	return parsed(grammar{
		name: "Zig", query: "zig", revision: 1, module: "ts-zig-1.1.2", style: slashStyle,
		keywords: map[string]string{"@import": "ref.import"},
		load:     func() *sitter.Language { return sitter.NewLanguage(zig.Language()) },
	})
}
