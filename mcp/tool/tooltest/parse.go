package tooltest

import (
	"crypto/sha256"
	"strings"

	"github.com/freshet/freshet/store"
)

// parse is a parser of a few lines, for Syntax.
func parse(text string) store.Syntax {
	syntax := store.Syntax{Cut: store.CutLines}
	doc, offset := "", 0
	for i, line := range strings.SplitAfter(text, "\n") {
		at, word := len(syntax.Definitions)-1, strings.TrimSpace(line)
		if d, ok := definition(word); ok && line[0] != '\t' {
			d.Doc, d.Start, d.StartLine = doc, uint32(offset), uint32(i+1)
			syntax.Definitions = append(syntax.Definitions, d)
			at++
		} else if line != "" && !strings.ContainsAny(line[:1], "\t})\n") {
			at = -1
		}
		doc = ""
		if comment, ok := strings.CutPrefix(line, "// "); ok {
			doc = strings.TrimSpace(comment)
		}
		if at >= 0 && word != "" {
			d := &syntax.Definitions[at]
			d.End, d.EndLine = uint32(offset+len(line)), uint32(i+1)
			if name, ok := strings.CutPrefix(word, "call "); ok {
				name, _, _ = strings.Cut(name, " ")
				syntax.References = append(syntax.References, store.Reference{Name: name, Kind: store.RefCall, Line: uint32(i + 1), From: int32(at)})
			}
		}
		offset += len(line)
	}
	for _, d := range syntax.Definitions {
		syntax.Chunks = append(syntax.Chunks, store.Chunk{
			Start: d.Start, End: d.End, StartLine: d.StartLine, EndLine: d.EndLine, Breadcrumb: d.Kind + " " + d.Name,
			TextHash: sha256.Sum256([]byte(text[d.Start:d.End])),
		})
	}
	return syntax
}

func definition(line string) (store.Definition, bool) {
	for keyword, kind := range map[string]string{"func ": "function", "type ": "struct"} {
		if rest, ok := strings.CutPrefix(line, keyword); ok {
			name, _, _ := strings.Cut(rest, "(")
			name, _, _ = strings.Cut(name, " ")
			return store.Definition{Name: name, Kind: kind, Signature: strings.TrimSuffix(line, " {"), Parent: -1}, true
		}
	}
	return store.Definition{}, false
}
