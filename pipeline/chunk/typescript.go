package chunk

import "github.com/smacker/go-tree-sitter/typescript/typescript"

func typescriptLanguage() language {
	return parsed(grammar{name: "TypeScript", query: "typescript", revision: 1, style: slashStyle, keywords: requireKeywords(), load: typescript.GetLanguage})
}
