package chunk

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
)

// hostile are small contents that crash or hang grammars, or would if they were parsed by
// recursion.
func hostile() map[string][]byte {
	repeat := func(s string, n int) []byte { return bytes.Repeat([]byte(s), n) }
	return map[string][]byte{
		"quotes":       repeat("> ", 256),
		"lists":        repeat("- ", 256),
		"braces":       repeat("{", 1_500),
		"parentheses":  repeat("(", 1_500),
		"functions":    repeat("f(", 1_000),
		"strings":      repeat(`"${`, 1_200),
		"triple":       repeat(`"""`, 1_001),
		"heredocs":     repeat("<<A\n", 500),
		"long bracket": append(repeat("[", 1), append(repeat("=", 300), '[')...),
		"raw strings":  repeat("r#\"", 1_000),
		"operators":    repeat("+-*/%", 100),
		"tags":         repeat("<a ", 500),
		"zeros":        repeat("\x00", 5_000),
		"bad UTF-8":    repeat("\xf0\x9f\xff", 1_000),
		"indentation":  deepIndentation(300),
	}
}

func deepIndentation(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%*sif x:\n", i, "")
	}
	return b.Bytes()
}

// TestPoolSurvivesHostileContents parses them in every language. A child may die of one;
// the next content must be cut all the same.
func TestPoolSurvivesHostileContents(t *testing.T) {
	t.Parallel()
	p := newPool(t, honest, Options{Children: 2})
	want := Cut("Go", []byte(goSource))
	for _, l := range languages() {
		for name, content := range hostile() {
			start := time.Now()
			s, err := p.Cut(t.Context(), l.name, content)
			var died *ChildDied
			switch {
			case errors.As(err, &died):
				t.Logf("%s: %s: %.200s (%s)", l.name, name, died.Reason, time.Since(start))
				s = Quarantine(content)
			case err != nil:
				t.Fatalf("%s: %s: %v", l.name, name, err)
			}
			if err := checkSyntax(content, s); err != nil {
				t.Errorf("%s: %s: %v", l.name, name, err)
			}
		}
		if s, err := p.Cut(t.Context(), "Go", []byte(goSource)); err != nil || len(s.Chunks) != len(want.Chunks) {
			t.Fatalf("after the hostile contents of %s: %v", l.name, err)
		}
	}
}

// TestCutOfDeepNesting parses so many open brackets that a recursion for each of them would
// overflow the stack.
func TestCutOfDeepNesting(t *testing.T) {
	t.Parallel()
	p := newPool(t, honest, Options{Children: 2})
	for language, mayGiveUp := range map[string]bool{"JSON": false, "CSS": false, "YAML": false, "JavaScript": true} {
		content := bytes.Repeat([]byte("["), 400_000)
		if mayGiveUp {
			content = content[:100_000]
		}
		s, err := p.Cut(t.Context(), language, content)
		if (errors.As(err, new(*ChildDied)) || errors.As(err, new(*ChildLost))) && mayGiveUp {
			s, err = Quarantine(content), nil
		}
		if err != nil {
			t.Errorf("%s: %v", language, err)
			continue
		}
		if err := checkSyntax(content, s); err != nil {
			t.Errorf("%s: %v", language, err)
		}
	}
}

// TestParserIsFitAfterGivingUp shows that a parse cut short leaves nothing to the next.
func TestParserIsFitAfterGivingUp(t *testing.T) {
	t.Parallel()
	c := newCutter(func(size int) int { return size / 1000 })
	defer c.close()
	long := bytes.Repeat(fixtureSource(t, "Java"), 200)
	if _, err := c.cut("Java", long); err == nil {
		t.Fatal("a parse of 200 KB ended within a few steps")
	}
	c.readers["Java"].(*grammarReader).limit = stepLimit
	source := fixtureSource(t, "Java")
	got, err := c.cut("Java", source)
	if err != nil {
		t.Fatal(err)
	}
	want := Cut("Java", source)
	if g, w := store.AppendSyntax(nil, got), store.AppendSyntax(nil, want); !bytes.Equal(g, w) {
		t.Error("the syntax after giving up is that of another parse")
	}
}
