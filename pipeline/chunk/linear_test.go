package chunk

import (
	"bytes"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
)

// TestScannersAreLinear gives the scanners the longest contents of what might make them
// look at the rest again and again.
func TestScannersAreLinear(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"<h1>", "<h1>a</h1>\n", "<script>", "<a", "<!--", "# a\n", "#", "```\n", "a\n===\n", "$a", "$a$", "'", "\"", "/*", "--", ";", "a;", "/* a */;",
		"create table a;\n", "{", "}", "{a;", "a{}", "#{", "[", "{\"a\":", "\"a\",", "a:\n", " a:\n", "- ", "- a:\n", "a: |\n", "[a]\n", "a=\"\"\"\n",
		"FROM a\n", "RUN a \\\n", "message A {", "rpc A(B) returns (C);\n", "(", ")", "@include a;", "\\", "\t", " ", "\r", "\xff",
	}
	c := newCutter(0)
	defer c.close()
	for _, l := range languages() {
		if l.cut != store.CutStructure {
			continue
		}
		for _, piece := range pieces {
			content := bytes.Repeat([]byte(piece), MaxBytes/8/len(piece))
			start := time.Now()
			s, err := c.cut(t.Context(), l.name, content)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("%s: %q repeated takes %s", l.name, piece, took)
			}
			if err := checkSyntax(content, s); err != nil {
				t.Errorf("%s: %q repeated: %v", l.name, piece, err)
			}
		}
	}
}
