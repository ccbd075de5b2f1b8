package chunk

import "github.com/smacker/go-tree-sitter/kotlin"

func kotlinLanguage() language {
	return parsed(grammar{name: "Kotlin", query: "kotlin", revision: 1, style: slashStyle, load: kotlin.GetLanguage})
}
