package chunk

import "github.com/smacker/go-tree-sitter/rust"

func rustLanguage() language {
	return parsed("Rust", "rust", "1", slashStyle.with("#["), rust.GetLanguage)
}
