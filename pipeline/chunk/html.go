package chunk

import (
	"bytes"
	"strings"

	"github.com/freshet/freshet/store"
)

// htmlLanguage cuts by headings, scripts and styles, and between them by indentation.
func htmlLanguage() language { return structured("HTML", "headings-1", readHTML) }

// maxTitle bounds the markup of a heading.
const maxTitle = 2000

// readHTML scans the tags of a document.
func readHTML(content []byte) outline {
	var o outline
	var sections []section
	lower := bytes.ToLower(content) // of equal length: only ASCII matters, and is kept so below
	if len(lower) != len(content) {
		lower = content
	}
	for at := 0; at < len(content); {
		i := bytes.IndexByte(content[at:], '<')
		if i < 0 {
			break
		}
		at += i
		if bytes.HasPrefix(content[at:], []byte("<!--")) {
			at = after(content, at+4, "-->")
			continue
		}
		tag := string(lower[at+1 : at+1+wordLength(lower[at+1:])])
		end := after(content, at, ">")
		switch {
		case tag == "script" || tag == "style":
			o.source(content[at:end], at)
			end = after(lower, end, "</"+tag+">")
			o.statements = append(o.statements, span{uint32(at), uint32(end)})
		case tag == "link":
			o.source(content[at:end], at)
		case len(tag) == 2 && tag[0] == 'h' && tag[1] >= '1' && tag[1] <= '6':
			near := lower[:min(len(lower), end+maxTitle)]
			stop := after(near, end, "</"+tag)
			if title := plainText(content[end:max(end, stop-len(tag)-2)]); title != "" && stop < len(near) {
				s := newSection(content, uint32(at), int(tag[1]-'0'), title)
				s.nameAt = uint32(at)
				sections = append(sections, s)
			}
		}
		at = max(end, at+1)
	}
	o.symbols = closeSections(sections, uint32(len(content)))
	return o
}

// after is the offset behind the next mark from at on, or the end of content.
func after(content []byte, at int, mark string) int {
	at = min(at, len(content))
	if i := bytes.Index(content[at:], []byte(mark)); i >= 0 {
		return at + i + len(mark)
	}
	return len(content)
}

func wordLength(text []byte) int {
	n := 0
	for n < len(text) && n < 16 && (text[n] >= 'a' && text[n] <= 'z' || text[n] >= '1' && text[n] <= '6') {
		n++
	}
	return n
}

// source adds the file that a tag names in src or href.
func (o *outline) source(tag []byte, at int) {
	for _, name := range []string{`src="`, `href="`} {
		if i := bytes.Index(tag, []byte(name)); i >= 0 {
			value := upTo(string(tag[i+len(name):]), `"`)
			if value != "" && len(value) <= maxName {
				o.uses = append(o.uses, use{name: value, kind: store.RefImport, at: uint32(at)})
			}
		}
	}
}

// plainText is markup without its tags, on one line.
func plainText(markup []byte) string {
	var b strings.Builder
	inside := false
	for _, c := range markup {
		switch {
		case c == '<':
			inside = true
		case c == '>':
			inside = false
		case !inside:
			b.WriteByte(c)
		}
	}
	return clip(strings.Join(strings.Fields(b.String()), " "), maxCrumb)
}
