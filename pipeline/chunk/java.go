package chunk

import "github.com/smacker/go-tree-sitter/java"

func javaLanguage() language {
	return parsed("Java", "java", "1", slashStyle, java.GetLanguage)
}
