package chunk

import "github.com/smacker/go-tree-sitter/python"

func pythonLanguage() language {
	style := hashStyle.with("@")
	style.docstring = true
	return parsed("Python", "python", "1", style, python.GetLanguage)
}
