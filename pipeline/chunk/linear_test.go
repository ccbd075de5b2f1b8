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
			whole := bytes.Repeat([]byte(piece), MaxBytes/16/len(piece))
			if took := timeOf(t, c, l.name, whole[:len(whole)/4]); timeOf(t, c, l.name, whole) > 10*took+50*time.Millisecond {
				t.Errorf("%s: %q repeated takes %s, four times as often much longer", l.name, piece, took)
			}
		}
	}
}

// timeOf is how long it takes to cut a content, at best of three.
func timeOf(t *testing.T, c *cutter, language string, content []byte) time.Duration {
	t.Helper()
	best := time.Hour
	for range 3 {
		start := time.Now()
		s, err := c.cut(t.Context(), language, content)
		best = min(best, time.Since(start))
		if err != nil {
			t.Fatal(err)
		}
		if err := checkSyntax(content, s); err != nil {
			t.Fatalf("%s: %q: %v", language, content[:min(20, len(content))], err)
		}
	}
	return best
}
