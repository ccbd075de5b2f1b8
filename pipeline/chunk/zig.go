package chunk

import (
	sitter "github.com/smacker/go-tree-sitter"
	zig "github.com/tree-sitter-grammars/tree-sitter-zig/bindings/go"
)

func zigLanguage() language {
	l := keyworded("Zig", "zig", "1", slashStyle, map[string]string{"@import": "ref.import"}, func() *sitter.Language {
		return sitter.NewLanguage(zig.Language())
	})
	l.version = "ts-1.1.2.1"
	return l
}
