package chunk

import "github.com/smacker/go-tree-sitter/swift"

func swiftLanguage() language {
	return parsed("Swift", "swift", "1", slashStyle, swift.GetLanguage)
}
