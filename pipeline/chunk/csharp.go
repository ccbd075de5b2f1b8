package chunk

import "github.com/smacker/go-tree-sitter/csharp"

func csharpLanguage() language {
	return parsed("C#", "csharp", "1", slashStyle.with("["), csharp.GetLanguage)
}
