package chunk

import "github.com/smacker/go-tree-sitter/typescript/typescript"

func typescriptLanguage() language {
	return keyworded("TypeScript", "typescript", "1", slashStyle, requireKeywords(), typescript.GetLanguage)
}
