package chunk

import (
	"bytes"
	"strings"
)

// markdownLanguage cuts by headings: the grammar crashes on 512 bytes of nested quotes.
func markdownLanguage() language {
	return structured("Markdown", "headings-1", readMarkdown)
}

// section is a heading with the level that ends it.
type section struct {
	symbol
	level int
}

// readMarkdown finds the sections, nested by their levels, and the fenced blocks.
func readMarkdown(content []byte) outline {
	var o outline
	var sections []section
	lines := indexLines(content)
	fence, fenceStart := "", uint32(0)
	for i := range lines.count() {
		text := string(lines.text(i))
		start, end := lines.starts[i], lines.starts[i+1]
		if fence != "" {
			if strings.HasPrefix(text, fence) && strings.Trim(text, fence[:1]) == "" {
				fence = ""
				o.statements = append(o.statements, span{fenceStart, end})
			}
			continue
		}
		if fence = fenceOf(text); fence != "" {
			fenceStart = start
			continue
		}
		level, title := headingOf(text)
		if level == 0 && i > 0 && !lines.blank(i-1) && lines.indents[i] < tabWidth {
			if level = underline(text); level > 0 {
				title = string(lines.text(i - 1))
				start = lines.starts[i-1]
			}
		}
		if level > 0 && title != "" && headingOfLevel(title) == 0 {
			sections = append(sections, newSection(content, start, level, title))
		}
	}
	o.symbols = closeSections(sections, uint32(len(content)))
	return o
}

func headingOfLevel(title string) int { level, _ := headingOf(title); return level }

func newSection(content []byte, start uint32, level int, title string) section {
	nameAt := start + uint32(max(0, bytes.Index(content[start:], []byte(title))))
	return section{level: level, symbol: symbol{
		name: title, kind: "heading", title: clip(title, maxCrumb), nameAt: nameAt, span: span{start: start},
		signature: oneLine([]byte(strings.Repeat("#", level) + " " + title)), plain: true,
	}}
}

// closeSections ends each section where the next of its level or a higher one begins.
func closeSections(sections []section, end uint32) []symbol {
	symbols := make([]symbol, len(sections))
	var open []int
	for i, s := range sections {
		for len(open) > 0 && sections[open[len(open)-1]].level >= s.level {
			symbols[open[len(open)-1]].end = s.start
			open = open[:len(open)-1]
		}
		symbols[i] = s.symbol
		open = append(open, i)
	}
	for _, i := range open {
		symbols[i].end = end
	}
	return symbols
}

// fenceOf is the mark that a line opens a fenced block with, or "".
func fenceOf(text string) string {
	for _, c := range []string{"`", "~"} {
		if mark := text[:len(text)-len(strings.TrimLeft(text, c))]; len(mark) >= 3 && !strings.Contains(text[len(mark):], "`") {
			return mark
		}
	}
	return ""
}

// headingOf reads "## Title ##".
func headingOf(text string) (level int, title string) {
	rest := strings.TrimLeft(text, "#")
	level = len(text) - len(rest)
	if level == 0 || level > 6 || rest == "" || rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	return level, strings.TrimSpace(strings.TrimRight(strings.TrimSpace(rest), "#"))
}

// underline is the level of the heading that a line of "===" or "---" makes of the one
// above it, or 0.
func underline(text string) int {
	switch {
	case len(text) < 3:
		return 0
	case strings.Trim(text, "=") == "":
		return 1
	case strings.Trim(text, "-") == "":
		return 2
	}
	return 0
}
