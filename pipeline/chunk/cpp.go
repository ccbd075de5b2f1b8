package chunk

import (
	"strings"

	"github.com/smacker/go-tree-sitter/cpp"
)

func cppLanguage() language {
	l := parsed(grammar{name: "C++", query: "cpp", revision: 1, style: slashStyle.with("template", "[["), load: cpp.GetLanguage})
	l.refine = func(_ []byte, o *outline) {
		for i := range o.symbols {
			if s := &o.symbols[i]; strings.Contains(s.name, "::") && !strings.Contains(s.name, "operator") {
				qualify(s, ":", "class")
			}
		}
	}
	return l
}
