package chunk

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
	c := newCutter(stepLimit)
	defer c.close()
	for _, l := range languages() {
		if l.cut != store.CutStructure {
			continue
		}
		for _, piece := range pieces {
			whole := bytes.Repeat([]byte(piece), MaxBytes/32/len(piece))
			if !linear(t, c, l.name, whole) {
				t.Errorf("%s: %q repeated four times as often takes over ten times as long", l.name, piece)
			}
		}
	}
}

// linear compares the CPU time for a content with that for a quarter of it, which does not
// depend on what else runs. Caches do: it looks again before it says no.
func linear(t *testing.T, c *cutter, language string, content []byte) bool {
	t.Helper()
	for range 3 {
		quarter := timeOf(t, c, language, content[:len(content)/4])
		if timeOf(t, c, language, content) < 10*quarter+300*time.Millisecond {
			return true
		}
	}
	return false
}

// timeOf is the CPU time of cutting a content, which one thread does.
func timeOf(t *testing.T, c *cutter, language string, content []byte) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime(t)
	s, err := c.cut(language, content)
	took := threadTime(t) - start
	if err != nil {
		t.Fatal(err)
	}
	if err := checkSyntax(content, s); err != nil {
		t.Fatalf("%s: %q: %v", language, content[:min(20, len(content))], err)
	}
	return took
}

// threadTime is the CPU time that this thread has used.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
