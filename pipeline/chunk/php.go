package chunk

import "github.com/smacker/go-tree-sitter/php"

func phpLanguage() language {
	return parsed(grammar{name: "PHP", query: "php", revision: 1, style: slashStyle.with("#["), load: php.GetLanguage})
}
