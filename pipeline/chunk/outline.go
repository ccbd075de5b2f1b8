package chunk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
)

// finish turns an outline into the syntax of the content.
func (l language) finish(lines lineIndex, o outline) store.Syntax {
	symbols := normalize(o.symbols, uint32(len(lines.content)))
	definitions, firsts := l.define(lines, symbols)
	units := l.units(lines, symbols, definitions, firsts, o.statements)
	references := refer(lines, symbols, definitions, o.uses)
	definitions = dropScopes(symbols, definitions, references)
	references = distinct(references)
	return store.Syntax{
		Cut:         l.cut,
		Chunks:      pack(lines.content, itemize(lines, units)),
		Definitions: definitions,
		References:  references,
	}
}

// dropScopes removes the definitions that are only scopes. Their members move to the
// definition of the same name, or else to the enclosing definition.
func dropScopes(symbols []symbol, definitions []store.Definition, references []store.Reference) []store.Definition {
	byName := map[string]int32{}
	moved := make([]int32, len(definitions)) // the new index of each
	kept := int32(0)
	scopes := false
	for i := range definitions {
		if symbols[i].scope {
			scopes = true
			continue
		}
		if _, ok := byName[symbols[i].name]; !ok {
			byName[symbols[i].name] = kept
		}
		moved[i] = kept
		kept++
	}
	if !scopes {
		return definitions
	}
	for i := range definitions {
		if !symbols[i].scope {
			continue
		}
		moved[i] = -1
		if owner, ok := byName[symbols[i].name]; ok {
			moved[i] = owner
		} else if parent := definitions[i].Parent; parent >= 0 {
			moved[i] = moved[parent]
		}
	}
	result := make([]store.Definition, 0, kept)
	for i, d := range definitions {
		if symbols[i].scope {
			continue
		}
		if d.Parent >= 0 {
			d.Parent = moved[d.Parent]
		}
		result = append(result, d)
	}
	for i := range references {
		if from := references[i].From; from >= 0 {
			references[i].From = moved[from]
		}
	}
	return slices.Clip(result)
}

// normalize sorts symbols so that one stands before those it encloses, and keeps of
// several readings of the name at one place the first, with the widest span.
func normalize(symbols []symbol, size uint32) []symbol {
	kept := symbols[:0]
	widest := make(map[uint32]int, len(symbols))
	for _, s := range symbols {
		if s.name == "" || s.start >= s.end || s.end > size || s.nameAt < s.start || s.nameAt > s.end {
			continue
		}
		if i, ok := widest[s.nameAt]; ok {
			wider := s.span
			if k := kept[i].span; k.end-k.start >= s.end-s.start {
				wider = k
			}
			if s.rank < kept[i].rank {
				kept[i] = s
			}
			kept[i].span = wider
			continue
		}
		widest[s.nameAt] = len(kept)
		kept = append(kept, s)
	}
	slices.SortStableFunc(kept, func(a, b symbol) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.nameAt, b.nameAt))
	})
	return kept
}

// define gives each symbol its parent, lines and texts. firsts holds the first line of
// what belongs to each, its comment included.
func (l language) define(lines lineIndex, symbols []symbol) (definitions []store.Definition, firsts []int) {
	if len(symbols) == 0 {
		return nil, nil
	}
	definitions = make([]store.Definition, len(symbols))
	firsts = make([]int, len(symbols))
	byName := map[string]int32{}
	var open []int32
	for i := range symbols {
		s := &symbols[i]
		for len(open) > 0 && definitions[open[len(open)-1]].End < s.end {
			open = open[:len(open)-1]
		}
		parent := int32(-1)
		for j := len(open) - 1; j >= 0; j-- { // names of one declaration do not enclose each other
			if symbols[open[j]].span != s.span {
				parent = open[j]
				break
			}
		}
		open = append(open, int32(i))
		first, last := lines.at(s.start), lines.lastOf(s.start, s.end)
		if s.kind == "function" && parent >= 0 && ownsMethods(definitions[parent].Kind) {
			s.kind = "method"
		}
		d := store.Definition{
			Name: clip(s.name, maxSignature), Kind: s.kind, Start: s.start, End: s.end,
			StartLine: uint32(first) + 1, EndLine: uint32(last) + 1, Parent: parent,
		}
		l.describe(lines, s, &d)
		firsts[i] = first
		if !s.plain {
			firsts[i] = l.style.above(lines, first, 0)
			if d.Doc == "" {
				d.Doc = l.style.doc(lines, firsts[i], lines.at(s.nameAt))
			}
		}
		if _, ok := byName[s.name]; !ok && s.ownerName == "" && !s.scope {
			byName[s.name] = int32(i)
		}
		definitions[i] = d
	}
	for i, s := range symbols {
		if owner, ok := byName[s.ownerName]; ok && s.ownerName != "" && int(owner) != i {
			definitions[i].Parent = owner
		}
	}
	return definitions, firsts
}

// ownsMethods reports whether a function in a definition of this kind is a method.
func ownsMethods(kind string) bool {
	switch kind {
	case "class", "struct", "interface", "trait", "enum", "type", "impl", "extension", "instance":
		return true
	}
	return false
}

// describe sets the signature and, where the language keeps it in the body, the doc.
func (l language) describe(lines lineIndex, s *symbol, d *store.Definition) {
	d.Signature, d.Doc = s.signature, s.doc
	if s.signature != "" {
		return
	}
	start := s.start
	for line, nameLine := lines.at(start), lines.at(s.nameAt); line < nameLine && l.style.isAbove(lines.text(line)); {
		line++
		start = lines.starts[line]
	}
	nameEnd := min(s.nameAt+uint32(len(s.name)), s.end)
	var stop uint32
	d.Signature, stop = signature(lines.content, start, nameEnd, s.end)
	if l.style.docstring && (s.kind == "class" || s.kind == "function" || s.kind == "method") {
		d.Doc = docstring(lines.content[stop:s.end])
	}
}

// units turns definitions and statements into a tree of whole lines.
func (l language) units(lines lineIndex, symbols []symbol, definitions []store.Definition, firsts []int, statements []span) []unit {
	units := make([]unit, 0, len(definitions)+len(statements))
	for i := range definitions {
		units = append(units, unit{
			first: firsts[i], body: int(definitions[i].StartLine) - 1, end: int(definitions[i].EndLine), crumb: l.crumb(&symbols[i]),
		})
	}
	for _, s := range statements {
		units = append(units, unit{first: lines.at(s.start), end: lines.lastOf(s.start, s.end) + 1})
	}
	slices.SortStableFunc(units, func(a, b unit) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.end, a.end))
	})
	rest := units
	return nest(&rest, 0, lines.count())
}

// nest takes from the front of rest the units that lie in the lines [first, end) and puts
// those inside another one below it. Where two overlap otherwise, one without a name ends
// where the other begins, and else the other begins where the one ends. Of several with
// the same lines the first with a name remains.
func nest(rest *[]unit, first, end int) []unit {
	var level []unit
	for len(*rest) > 0 && (*rest)[0].first < end {
		u := (*rest)[0]
		if u.end > end {
			(*rest)[0].first = end
			return level
		}
		*rest = (*rest)[1:]
		if u.first = max(u.first, first); u.first >= u.end {
			continue
		}
		for len(*rest) > 0 && (*rest)[0].first <= u.first && (*rest)[0].end == u.end {
			if u.crumb == "" {
				u.crumb = (*rest)[0].crumb
			}
			*rest = (*rest)[1:]
		}
		if u.crumb == "" {
			u.end = overlapped(*rest, u)
		}
		u.children = nest(rest, u.first, u.end)
		level = append(level, u)
		first = u.end
	}
	return level
}

// overlapped is the line where u ends when it gives way to a unit that begins in it.
func overlapped(rest []unit, u unit) int {
	for _, other := range rest {
		if other.first >= u.end {
			break
		}
		if other.first > u.first && other.end > u.end {
			return other.first
		}
	}
	return u.end
}

// refer resolves the enclosing definition and line of each use. It drops uses that are the
// name of a definition, and types that are part of a qualified name. A use in a field belongs
// to the definition that has the field.
func refer(lines lineIndex, symbols []symbol, definitions []store.Definition, uses []use) []store.Reference {
	if len(uses) == 0 {
		return nil
	}
	slices.SortStableFunc(uses, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.at, b.at), -cmp.Compare(a.kind, b.kind), -cmp.Compare(len(a.name), len(b.name)))
	})
	names := make(map[uint32]struct{}, len(symbols))
	for i := range symbols {
		names[symbols[i].nameAt] = struct{}{}
	}
	references := make([]store.Reference, 0, len(uses))
	var open []int32
	next, line, named := int32(0), 0, uint32(0) // named is where the last name ends
	for _, u := range uses {
		if _, ok := names[u.at]; ok || u.name == "" || u.kind == store.RefType && u.at < named {
			continue
		}
		if u.kind == store.RefType || u.kind == store.RefInherit {
			named = u.at + uint32(len(u.name))
		}
		for ; int(next) < len(definitions) && definitions[next].Start <= u.at; next++ {
			if !symbols[next].plain || definitions[next].Parent < 0 {
				open = append(open, next)
			}
		}
		for len(open) > 0 && definitions[open[len(open)-1]].End <= u.at {
			open = open[:len(open)-1]
		}
		from := int32(-1)
		if len(open) > 0 {
			from = open[len(open)-1]
		}
		for line+1 < lines.count() && lines.starts[line+1] <= u.at {
			line++
		}
		references = append(references, store.Reference{Name: strings.ToValidUTF8(u.name, "\uFFFD"), Kind: u.kind, Line: uint32(line) + 1, From: from})
	}
	return references
}

// distinct keeps the first of references that differ in their lines only.
func distinct(references []store.Reference) []store.Reference {
	seen := make(map[store.Reference]struct{}, len(references))
	kept := references[:0]
	for _, r := range references {
		key := r
		key.Line = 0
		if _, ok := seen[key]; !ok {
			seen[key] = struct{}{}
			kept = append(kept, r)
		}
	}
	return slices.Clip(kept)
}

// maxName bounds the name of a reference.
const maxName = 120

// useName is the name that the text of an expression ends in, with its qualifier:
// "http.Get" of "http.Get", "Close" of "open(x).Close", "Vec" of "Vec<T>".
func useName(text string) string {
	for len(text) > 0 && (text[len(text)-1] == '>' || text[len(text)-1] == ']') {
		opener := strings.LastIndexAny(text, "<[")
		if opener <= 0 {
			return ""
		}
		text = text[:opener]
	}
	start := len(text)
	for start > 0 && nameByte(text, start-1) {
		start--
	}
	text = strings.TrimLeft(text[start:], ".:->?!&*")
	if len(text) > maxName {
		text = text[len(text)-maxName:]
		if i := strings.IndexAny(text, ".:"); i >= 0 {
			text = strings.TrimLeft(text[i:], ".:->")
		}
	}
	return text
}

func nameByte(s string, i int) bool {
	c := s[i]
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c >= 0x80:
		return true
	}
	switch c {
	case '_', '$', '.', ':', '?', '!', '\\':
		return true
	case '-':
		return i+1 < len(s) && s[i+1] == '>'
	case '>':
		return i > 0 && s[i-1] == '-'
	}
	return false
}
