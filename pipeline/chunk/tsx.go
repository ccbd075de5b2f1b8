package chunk

import "github.com/smacker/go-tree-sitter/typescript/tsx"

func tsxLanguage() language {
	return keyworded("TSX", "tsx", "1", slashStyle, requireKeywords(), tsx.GetLanguage)
}
