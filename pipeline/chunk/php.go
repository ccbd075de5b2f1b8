package chunk

import "github.com/smacker/go-tree-sitter/php"

func phpLanguage() language {
	return parsed("PHP", "php", "1", slashStyle.with("#["), php.GetLanguage)
}
