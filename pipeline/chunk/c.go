package chunk

import "github.com/smacker/go-tree-sitter/c"

func cLanguage() language {
	return parsed(grammar{name: "C", query: "c", revision: 1, style: slashStyle.with("__attribute__"), load: c.GetLanguage})
}
