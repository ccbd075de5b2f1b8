package chunk

import (
	"bytes"
	"slices"
	"strings"
)

// yamlLanguage reads the keys of a document by their indentation: the grammar fails on one
// file of five.
func yamlLanguage() language {
	l := structured("YAML", "keys-1", readYAML)
	l.style = style{line: []string{"#"}}
	return l
}

// yamlNode is an open key or list item.
type yamlNode struct {
	indent int16
	symbol
	keyed bool
}

// readYAML lists the keys down to maxKeyDepth and the list items between them. A line
// belongs to the last key that is indented less.
func readYAML(content []byte) outline {
	var o outline
	var open []yamlNode
	lines := indexLines(content)
	shut := func(indent int16, end uint32) {
		for len(open) > 0 && open[len(open)-1].indent >= indent {
			node := open[len(open)-1]
			open = open[:len(open)-1]
			node.end = end
			switch {
			case node.keyed && len(open) < maxKeyDepth && len(o.symbols) < maxKeys:
				o.symbols = append(o.symbols, node.symbol)
			case len(open) < maxDataDepth && len(o.statements) < maxTopLevel:
				o.statements = append(o.statements, node.span)
			}
		}
	}
	end := uint32(0) // of the last line with data
	literal := int16(-1)
	for i := range lines.count() {
		indent := lines.indents[i]
		if indent < 0 {
			continue
		}
		if literal >= 0 && indent > literal {
			end = lines.starts[i+1]
			continue
		}
		literal = -1
		text := lines.text(i)
		if text[0] == '#' {
			continue
		}
		start := lines.starts[i] + uint32(bytes.Index(content[lines.starts[i]:lines.starts[i+1]], text))
		if indent == 0 && (bytes.HasPrefix(text, []byte("---")) || bytes.HasPrefix(text, []byte("..."))) {
			shut(0, end)
			continue
		}
		key, isKey := yamlKey(text)
		item := text[0] == '-' && (len(text) == 1 || text[1] == ' ')
		if isKey || item {
			if item && ownsList(open, indent) {
				indent++
			}
			shut(indent, end)
			node := yamlNode{indent: indent, keyed: isKey && !item}
			node.symbol = symbol{name: key, kind: "key", title: clip(key, maxCrumb), nameAt: start, span: span{start: start}, signature: oneLine(text)}
			open = append(open, node)
		}
		if last := text[len(text)-1]; (last == '|' || last == '>' || bytes.HasSuffix(text, []byte("|-")) || bytes.HasSuffix(text, []byte(">-"))) && (isKey || item) {
			literal = lines.indents[i]
		}
		end = lines.starts[i+1]
	}
	shut(0, end)
	return o
}

// ownsList reports whether a list item at indent belongs to an open key in the same column.
func ownsList(open []yamlNode, indent int16) bool {
	for _, node := range slices.Backward(open) {
		if node.indent <= indent {
			return node.indent == indent && node.keyed
		}
	}
	return false
}

// yamlKey is the key that a line begins with.
func yamlKey(text []byte) (string, bool) {
	i := bytes.IndexByte(text, ':')
	if i <= 0 || i > maxCrumb || i+1 < len(text) && text[i+1] != ' ' && text[i+1] != '\t' {
		return "", false
	}
	key := strings.Trim(string(text[:i]), `"' `)
	if key == "" || strings.ContainsAny(key, "{[") {
		return "", false
	}
	return key, true
}
