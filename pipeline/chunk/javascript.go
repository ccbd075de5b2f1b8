package chunk

import "github.com/smacker/go-tree-sitter/javascript"

func javascriptLanguage() language {
	return parsed(grammar{name: "JavaScript", query: "javascript", revision: 1, style: slashStyle, keywords: requireKeywords(), load: javascript.GetLanguage})
}

// requireKeywords are the calls that import a module.
func requireKeywords() map[string]string {
	return map[string]string{"require": "ref.import"}
}
