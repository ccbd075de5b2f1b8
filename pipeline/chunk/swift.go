package chunk

import "github.com/smacker/go-tree-sitter/swift"

func swiftLanguage() language {
	return parsed(grammar{name: "Swift", query: "swift", revision: 1, style: slashStyle, load: swift.GetLanguage})
}
