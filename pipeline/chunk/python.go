package chunk

import "github.com/smacker/go-tree-sitter/python"

func pythonLanguage() language {
	style := hashStyle.with("@")
	style.docstring = true
	return parsed(grammar{name: "Python", query: "python", revision: 1, style: style, load: python.GetLanguage})
}
