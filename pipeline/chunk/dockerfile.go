package chunk

import (
	"strings"

	"github.com/freshet/freshet/store"
)

// dockerfileLanguage reads instructions, grouped by the stages of the build.
func dockerfileLanguage() language {
	l := structured("Dockerfile", "stages-1", readDockerfile)
	l.style = style{line: []string{"#"}}
	return l
}

func readDockerfile(content []byte) outline {
	var o outline
	lines := indexLines(content)
	stage := -1
	for i := 0; i < lines.count(); i++ {
		text := string(lines.text(i))
		if text == "" || text[0] == '#' {
			continue
		}
		first := i
		for i+1 < lines.count() && (strings.HasSuffix(string(lines.text(i)), `\`) || i > first && strings.HasPrefix(string(lines.text(i)), "#")) {
			i++
		}
		at := span{lines.starts[first], lines.starts[i+1]}
		o.statements = append(o.statements, at)
		words := strings.Fields(text)
		if len(words) < 2 {
			continue
		}
		switch strings.ToUpper(words[0]) {
		case "FROM":
			if stage >= 0 {
				o.symbols[stage].end = at.start
			}
			stage = len(o.symbols)
			o.symbols = append(o.symbols, stageOf(words[1:], text, at))
			o.uses = append(o.uses, use{name: imageOf(words[1:]), kind: store.RefImport, at: at.start + 1})
		case "ARG", "ENV":
			name := upTo(words[1], "=")
			o.symbols = append(o.symbols, symbol{name: name, kind: "variable", nameAt: at.start + 1, span: at, signature: oneLine([]byte(text)), plain: true})
		}
	}
	if stage >= 0 {
		o.symbols[stage].end = uint32(len(content))
	}
	return o
}

// stageOf is the stage that FROM begins, named by its AS or else by its image.
func stageOf(words []string, text string, at span) symbol {
	name := imageOf(words)
	for i, word := range words {
		if strings.EqualFold(word, "AS") && i+1 < len(words) {
			name = words[i+1]
		}
	}
	return symbol{name: name, kind: "module", title: "stage " + clip(name, maxCrumb), nameAt: at.start, span: at, signature: oneLine([]byte(text))}
}

// imageOf is the first word that is no option.
func imageOf(words []string) string {
	for _, word := range words {
		if !strings.HasPrefix(word, "--") {
			return clip(word, maxName)
		}
	}
	return ""
}
