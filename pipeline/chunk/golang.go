package chunk

import (
	"context"
	"strings"
	"time"

	"github.com/smacker/go-tree-sitter/golang"

	"github.com/freshet/freshet/store"
)

// goLanguage reads Go with the standard library's parser, which is several times faster
// than the grammar, and with the grammar what that parser finds errors in.
func goLanguage() language {
	fallback := parsed("Go", "go", "1", slashStyle.with(), golang.GetLanguage)
	return language{
		name: "Go", version: "goparser-go1.26+" + fallback.version, cut: store.CutGrammar,
		style: fallback.style, typeWord: "type",
		reader: func(deadline time.Duration) (reader, error) {
			grammar, err := fallback.reader(deadline)
			return goReader{grammar}, err
		},
	}
}

type goReader struct{ grammar reader }

func (r goReader) close() { r.grammar.close() }

func (r goReader) read(ctx context.Context, content []byte) (outline, error) {
	if o, ok := goOutline(content); ok {
		return o, nil
	}
	o, err := r.grammar.read(ctx, content)
	for i := range o.symbols {
		ownMethod(content, &o.symbols[i])
	}
	return o, err
}

// ownMethod gives a method that the grammar found its receiver's type.
func ownMethod(content []byte, s *symbol) {
	if s.kind != "method" {
		return
	}
	receiver := string(content[s.start:s.nameAt])
	open, end := strings.Index(receiver, "("), strings.LastIndex(receiver, ")")
	if open < 0 || end < open {
		return
	}
	s.ownBy(useName(strings.TrimSpace(receiver[open+1 : end])))
}

func (s *symbol) ownBy(typeName string) {
	if typeName != "" {
		s.owner, s.ownerName = "type "+typeName, typeName
	}
}
