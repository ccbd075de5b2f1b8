package chunk

import "github.com/smacker/go-tree-sitter/ruby"

func rubyLanguage() language {
	return parsed(grammar{name: "Ruby", query: "ruby", revision: 1, style: hashStyle, load: ruby.GetLanguage, keywords: map[string]string{
		"require": "ref.import", "require_relative": "ref.import", "load": "ref.import",
		"include": "ref.inherit", "extend": "ref.inherit", "prepend": "ref.inherit",
		"attr_reader": "field.plain", "attr_writer": "field.plain", "attr_accessor": "field.plain",
	}})
}
