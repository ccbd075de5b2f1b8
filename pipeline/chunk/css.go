package chunk

import (
	"strings"

	"github.com/freshet/freshet/store"
)

func cssLanguage() language  { return styleSheet("CSS", "") }
func scssLanguage() language { return styleSheet("SCSS", "//") }
func lessLanguage() language { return styleSheet("Less", "//") }

// styleSheet reads rules by their braces.
func styleSheet(name, lineComment string) language {
	l := structured(name, "rules-1", func(content []byte) outline {
		return readRules(content, scanBlocks(content, blockSyntax{lineComment: lineComment}))
	})
	l.style = style{open: "/*", close: "*/"}
	if lineComment != "" {
		l.style.line = []string{"///", "//"}
	}
	return l
}

func readRules(content []byte, blocks []block) outline {
	var o outline
	for _, b := range blocks {
		head := oneLine(content[b.head.start:b.head.end])
		word, rest, _ := strings.Cut(head, " ")
		switch {
		case b.leaf && (word == "@import" || word == "@use" || word == "@forward"):
			rest = strings.Trim(upTo(strings.TrimPrefix(rest, "url("), " ;)"), "\"'")
			o.uses = append(o.uses, use{name: rest, kind: store.RefImport, at: b.start})
		case word == "@include":
			o.uses = append(o.uses, use{name: upTo(rest, "( ;"), kind: store.RefCall, at: b.start})
		case word == "@extend":
			o.uses = append(o.uses, use{name: rest, kind: store.RefInherit, at: b.start})
		case b.leaf && b.up < 0 || b.leaf && strings.HasPrefix(head, "--"):
			if name, _, ok := strings.Cut(head, ":"); ok && (strings.HasPrefix(name, "$") || strings.HasPrefix(name, "--") || strings.HasPrefix(name, "@")) {
				o.symbols = append(o.symbols, symbol{name: name, kind: "variable", nameAt: b.start, span: b.span, signature: head, plain: true})
			}
		case b.leaf || head == "":
		case word == "@mixin" || word == "@function":
			o.symbols = append(o.symbols, symbol{name: upTo(rest, "( "), kind: "function", nameAt: b.start, span: b.span, signature: head})
		default:
			o.symbols = append(o.symbols, symbol{name: head, kind: "selector", title: clip(head, maxCrumb), nameAt: b.start, span: b.span, signature: head})
		}
	}
	return o
}

// upTo is s before the first of the characters of cut.
func upTo(s, cut string) string {
	if i := strings.IndexAny(s, cut); i >= 0 {
		return s[:i]
	}
	return s
}
