package chunk

import "github.com/smacker/go-tree-sitter/javascript"

func javascriptLanguage() language {
	return keyworded("JavaScript", "javascript", "1", slashStyle, requireKeywords(), javascript.GetLanguage)
}

// requireKeywords are the calls that import a module.
func requireKeywords() map[string]string {
	return map[string]string{"require": "ref.import"}
}
