package chunk

import "github.com/smacker/go-tree-sitter/java"

func javaLanguage() language {
	return parsed(grammar{name: "Java", query: "java", revision: 1, style: slashStyle, load: java.GetLanguage})
}
