package chunk

import "github.com/smacker/go-tree-sitter/scala"

func scalaLanguage() language {
	return parsed("Scala", "scala", "1", slashStyle, scala.GetLanguage)
}
