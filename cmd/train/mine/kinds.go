package mine

import (
	"path"
	"regexp"
	"strings"

	"github.com/freshet/freshet/cmd/train/pairs"
)

// comments pairs each comment with the code that it stands above, and a docstring with the
// definition around it.
func (f *file) comments() {
	for i := 0; i < len(f.lines); i++ {
		if f.lines[i].kind != comment {
			continue
		}
		end := i + 1
		for end < len(f.lines) && f.lines[end].kind == comment && !f.lines[end].opens {
			end++
		}
		if said := f.saying(f.lines[i:end]); f.worthwhile(said) {
			f.comment(said, i, end)
		}
		i = end - 1
	}
}

func (f *file) comment(said string, start, end int) {
	if f.language.docstrings && f.lines[start].opens {
		f.docstring(said, start, end)
		return
	}
	if end >= len(f.lines) {
		return
	}
	if f.lines[end].kind == blank { // it speaks of the file, if it stands on top
		if start < 30 {
			f.add(pairs.Doc, said, text(f.lines[end:min(end+45, len(f.lines))]))
		}
		return
	}
	last := body(f.language, f.lines, end)
	if last-end >= definitionSize {
		f.add(pairs.Doc, said, text(f.lines[end:last]))
		return
	}
	for last = end; last < len(f.lines) && last-end < inlineLines && f.lines[last].kind == code; last++ {
	}
	f.add(pairs.Inline, said, text(f.lines[end:last]))
}

// docstring pairs a string with the definition whose first line stands above it.
func (f *file) docstring(said string, start, end int) {
	head := start - 1
	for head > 0 && start-head < 12 && (f.lines[head].kind != code || f.lines[head].indent >= f.lines[start].indent ||
		strings.HasPrefix(strings.TrimSpace(f.lines[head].text), ")")) {
		head--
	}
	if head < 0 || f.lines[head].indent >= f.lines[start].indent {
		f.add(pairs.Doc, said, text(f.lines[end:min(end+45, len(f.lines))])) // of the module
		return
	}
	last := body(f.language, f.lines, head)
	if last <= end {
		return
	}
	f.add(pairs.Doc, said, text(f.lines[head:start])+text(f.lines[end:last]))
}

// definitions pairs the words of each name with the body that it stands for.
func (f *file) definitions() {
	for i, l := range f.lines {
		if !f.begins(i) {
			continue
		}
		name := f.named(l.text)
		if !telling(name) {
			continue
		}
		end := body(f.language, f.lines, i)
		if end-i <= definitionSize {
			continue
		}
		f.add(pairs.Name, words(name), without(text(f.lines[i:end]), name))
	}
}

// begins reports whether a body may begin at a line: it is code, and what follows is
// indented deeper or a brace, or its language has paragraphs. Most lines begin nothing, and
// patterns are slow.
func (f *file) begins(i int) bool {
	if f.lines[i].kind != code {
		return false
	}
	for _, next := range f.lines[i+1 : min(i+4, len(f.lines))] {
		if next.kind != blank {
			return f.language.paragraphs || next.indent > f.lines[i].indent || strings.HasPrefix(strings.TrimSpace(next.text), "{")
		}
	}
	return false
}

// titlePattern finds the title of a test.
func titlePattern() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:it|test|describe|context|specify|should|scenario|feature|it\.each.*|test\.each.*) ?\(? ?["'` + "`" +
		`]([^"'` + "`" + `]{8,200})|(?:func|def|fn|fun|void|public void) +(?:Test|test|should)_?(\w{6,120})|fun ` + "`" + `([^` + "`" + `]{8,200})` + "`" +
		`|TEST(?:_F|_P|_CASE)?\((?:\w+, *)?["]?([^)"]{6,120})|test ["](.{8,200})["] do|@test ["](.{8,200})["])`)
}

// titles pairs the title of each test with its body.
func (f *file) titles() {
	for i, l := range f.lines {
		if !f.begins(i) {
			continue
		}
		found := f.title.FindStringSubmatch(strings.TrimSpace(l.text))
		if found == nil {
			continue
		}
		title := strings.Join(found[1:], "")
		end := body(f.language, f.lines, i)
		if end-i >= definitionSize {
			f.add(pairs.Test, words(title), without(text(f.lines[i+1:end]), title))
		}
	}
}

// pathLines is how many lines of a file stand for its path.
const pathLines = 45

// paths pairs the last words of the path with lines of the file: the first ones below the
// comment on top, and some from the middle.
func (f *file) paths() {
	folder, base := path.Split(f.path)
	base = strings.TrimSuffix(base, path.Ext(base))
	elements := strings.Split(strings.Trim(folder, "/"), "/")
	elements = append(elements[max(0, len(elements)-2):], base)
	query := words(strings.Join(elements, " "))
	first := 0
	for first < len(f.lines) && f.lines[first].kind != code {
		first++
	}
	if len(f.lines)-first < 8 {
		return
	}
	f.add(pairs.Path, query, text(f.lines[first:min(first+pathLines, len(f.lines))]))
	if middle := (first + len(f.lines)) / 2; middle-first > pathLines {
		f.add(pairs.Path, query, text(f.lines[middle:min(middle+pathLines, len(f.lines))]))
	}
}

// sections pairs the heading and text of a section with the block of code that follows.
func (f *file) sections(data string) {
	heading, said, block := "", "", []string(nil)
	inside := false
	for raw := range strings.SplitSeq(data, "\n") {
		trimmed := strings.TrimSpace(raw)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			if inside && len(block) >= definitionSize {
				query := strings.Join(strings.Fields(f.tags.ReplaceAllString(heading+" "+said, " ")), " ")
				if f.worthwhile(query) {
					f.add(pairs.Section, query[:min(len(query), maxSaid)], strings.Join(block, "\n"))
				}
			}
			inside, block = !inside, nil
		case inside:
			block = append(block, raw)
		case strings.HasPrefix(trimmed, "#"):
			heading, said = strings.TrimLeft(trimmed, "# "), ""
		case trimmed != "":
			said = trimmed
		}
	}
}
