package chunk

import (
	"strings"

	"github.com/smacker/go-tree-sitter/golang"

	"github.com/freshet/freshet/store"
)

// goLanguage reads Go with the standard library's parser, which is several times faster
// than the grammar, and with the grammar what that parser finds errors in.
func goLanguage() language {
	fallback := parsed(grammar{name: "Go", query: "go", revision: 1, style: slashStyle.with(), load: golang.GetLanguage})
	return language{
		name: "Go", version: "goparser-go1.26+" + fallback.version, cut: store.CutGrammar,
		style: fallback.style, typeWord: "type", refine: ownGoMethods,
		reader: func(limit func(int) int) (reader, error) {
			grammar, err := fallback.reader(limit)
			return goReader{grammar}, err
		},
	}
}

type goReader struct{ grammar reader }

func (r goReader) close() { r.grammar.close() }

func (r goReader) read(content []byte) (outline, error) {
	if o, ok := goOutline(content); ok {
		return o, nil
	}
	return r.grammar.read(content)
}

// ownGoMethods gives the methods that the grammar found their receivers' types.
func ownGoMethods(content []byte, o *outline) {
	for i := range o.symbols {
		s := &o.symbols[i]
		if s.kind != "method" || s.owner != "" || s.nameAt < s.start {
			continue
		}
		receiver := string(content[s.start:s.nameAt])
		open, end := strings.Index(receiver, "("), strings.LastIndex(receiver, ")")
		if open >= 0 && end > open {
			s.ownBy(useName(strings.TrimSpace(receiver[open+1 : end])))
		}
	}
}

func (s *symbol) ownBy(typeName string) {
	if typeName != "" {
		s.owner, s.ownerName = "type "+typeName, typeName
	}
}
