package chunk

import (
	"strings"

	"github.com/smacker/go-tree-sitter/lua"
)

func luaLanguage() language {
	l := parsed(grammar{
		name: "Lua", query: "lua", revision: 1, style: dashStyle,
		keywords: map[string]string{"require": "ref.import"},
		prime:    "local a = 'b'\n", // its scanner keeps the quote of an unfinished string
		load:     lua.GetLanguage,
	})
	l.refine = func(_ []byte, o *outline) {
		for i := range o.symbols {
			qualify(&o.symbols[i], ".:", "table")
		}
	}
	return l
}

// qualify splits the name of a function at the last of separators: what stands before is
// its owner, and the function a method.
func qualify(s *symbol, separators, ownerKind string) {
	at := strings.LastIndexAny(s.name, separators)
	if at <= 0 || s.kind != "function" && s.kind != "method" {
		return
	}
	owner := strings.TrimRight(s.name[:at], separators)
	s.nameAt += uint32(at + 1)
	s.name, s.kind = s.name[at+1:], "method"
	s.owner = ownerKind + " " + clip(owner, maxCrumb)
	s.ownerName = useName(owner)
}
