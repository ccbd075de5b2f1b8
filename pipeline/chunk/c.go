package chunk

import "github.com/smacker/go-tree-sitter/c"

func cLanguage() language {
	return parsed("C", "c", "1", slashStyle.with("__attribute__"), c.GetLanguage)
}
