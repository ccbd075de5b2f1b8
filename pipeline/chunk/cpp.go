package chunk

import (
	"strings"

	"github.com/smacker/go-tree-sitter/cpp"
)

func cppLanguage() language {
	l := parsed("C++", "cpp", "1", slashStyle.with("template", "[["), cpp.GetLanguage)
	l.refine = func(_ []byte, o *outline) {
		for i := range o.symbols {
			if s := &o.symbols[i]; strings.Contains(s.name, "::") && !strings.Contains(s.name, "operator") {
				qualify(s, ":", "class")
			}
		}
	}
	return l
}
