package chunk

import "github.com/smacker/go-tree-sitter/typescript/tsx"

func tsxLanguage() language {
	return parsed(grammar{name: "TSX", query: "tsx", revision: 1, style: slashStyle, keywords: requireKeywords(), load: tsx.GetLanguage})
}
