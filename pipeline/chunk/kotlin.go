package chunk

import "github.com/smacker/go-tree-sitter/kotlin"

func kotlinLanguage() language {
	return parsed("Kotlin", "kotlin", "1", slashStyle, kotlin.GetLanguage)
}
