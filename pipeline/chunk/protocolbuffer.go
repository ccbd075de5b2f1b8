package chunk

import (
	"strings"

	"github.com/freshet/freshet/store"
)

// protocolBufferLanguage reads definitions by their braces: the grammar knows proto3 only.
func protocolBufferLanguage() language {
	l := structured("Protocol Buffer", "blocks-1", func(content []byte) outline {
		return readProto(content, scanBlocks(content, blockSyntax{lineComment: "//"}))
	})
	l.style = style{line: []string{"//"}, open: "/*", close: "*/"}
	return l
}

func readProto(content []byte, blocks []block) outline {
	kinds := map[string]string{
		"message": "message", "enum": "enum", "service": "service", "rpc": "method",
		"group": "message", "extend": "message", "oneof": "field",
	}
	var o outline
	for _, b := range blocks {
		head := oneLine(content[b.head.start:b.head.end])
		words := strings.FieldsFunc(head, func(r rune) bool { return strings.ContainsRune(" \t\n()=,<>", r) })
		if len(words) < 2 {
			continue
		}
		kind := kinds[words[0]]
		switch {
		case words[0] == "import":
			o.uses = append(o.uses, use{name: strings.Trim(words[len(words)-1], "\"'"), kind: store.RefImport, at: b.start})
		case kind != "" && (!b.leaf || kind == "method"):
			nameAt := b.start + uint32(strings.Index(string(content[b.head.start:b.head.end]), words[1]))
			o.symbols = append(o.symbols, symbol{name: words[1], kind: kind, nameAt: nameAt, span: b.span, signature: head})
			if kind == "method" {
				o.addTypes(content, b.head, words[2:])
			}
		case b.leaf && b.up >= 0:
			o.field(content, b, head)
		}
	}
	return o
}

// addTypes adds the message types of a call.
func (o *outline) addTypes(content []byte, head span, words []string) {
	text := string(content[head.start:head.end])
	at := strings.IndexByte(text, '(')
	for _, word := range words {
		i := strings.Index(text[max(at, 0):], word)
		if at < 0 || i < 0 || word == "returns" || word == "stream" {
			continue
		}
		at += i
		o.uses = append(o.uses, use{name: word, kind: store.RefType, at: head.start + uint32(at)})
	}
}

// field adds "repeated Type name = 1" and "VALUE = 1".
func (o *outline) field(content []byte, b block, head string) {
	declared, _, ok := strings.Cut(head, "=")
	words := strings.Fields(declared)
	if !ok || len(words) == 0 || words[0] == "option" {
		return
	}
	name := words[len(words)-1]
	kind := "constant"
	if len(words) > 1 {
		kind = "field"
		if t := words[len(words)-2]; !scalar(t) {
			o.uses = append(o.uses, use{name: strings.Trim(t, ">"), kind: store.RefType, at: b.start})
		}
	}
	nameAt := b.start + uint32(max(0, strings.LastIndex(string(content[b.head.start:b.head.end]), name)))
	o.symbols = append(o.symbols, symbol{name: name, kind: kind, nameAt: nameAt, span: b.span, signature: head, plain: true})
}

func scalar(name string) bool {
	switch strings.Trim(name, ">") {
	case "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes":
		return true
	}
	return false
}
