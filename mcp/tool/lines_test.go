package tool

import (
	"strings"
	"testing"

	"github.com/freshet/freshet/store/search"
)

// Lines of one file stand together, as grep -n writes them, below the definition around
// them; each once, a match before what is around another.
func TestLinesOfOneFileStandTogether(t *testing.T) {
	t.Parallel()
	line := func(path string, at int, fqn, content, before, after string) Hit {
		return Hit{Kind: search.HitLine, FilePath: path, StartLine: at, EndLine: at, FQN: fqn, Content: content,
			ContextBefore: before, ContextAfter: after, Verified: true, Language: "Go"}
	}
	e := &Envelope{Results: []Hit{
		line("a.go", 3, "p.F", "\tx()\n", "func F() {\n", "\ty()\n\tx(1)\n"),
		line("a.go", 5, "p.F", "\tx(1)\n", "\tx()\n\ty()\n", "}\n"),
		line("a.go", 9, "p.G", "\tx(2)\n", "", ""),
		line("b.go", 1, "", "x\n", "", ""),
	}}
	const want = "```go\nin p.F\n2-func F() {\n3:\tx()\n4-\ty()\n5:\tx(1)\n6-}\nin p.G\n9:\tx(2)\n```\n"
	for name, text := range map[string]string{"agent": agentMarkdown(e), "person": Markdown(e)} {
		if !strings.Contains(text, want) || !strings.Contains(text, "```go\n1:x\n```\n") {
			t.Errorf("%s: got\n%s\nwant in it\n%s", name, text, want)
		}
	}
}
