package chunk

import "github.com/smacker/go-tree-sitter/rust"

func rustLanguage() language {
	return parsed(grammar{name: "Rust", query: "rust", revision: 1, style: slashStyle.with("#["), load: rust.GetLanguage})
}
