package chunk

import "github.com/smacker/go-tree-sitter/scala"

func scalaLanguage() language {
	return parsed(grammar{name: "Scala", query: "scala", revision: 1, style: slashStyle, load: scala.GetLanguage})
}
