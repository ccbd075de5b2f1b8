package chunk

import "github.com/smacker/go-tree-sitter/csharp"

func csharpLanguage() language {
	return parsed(grammar{name: "C#", query: "csharp", revision: 1, style: slashStyle.with("["), load: csharp.GetLanguage})
}
