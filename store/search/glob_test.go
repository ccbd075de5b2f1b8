package search

import (
	"errors"
	"strings"
	"testing"
)

func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		patterns string // separated by spaces
		keeps    string
		drops    string
	}{
		{"an extension, at any depth", "*.go", "a.go a/b/c.go", "a.c a.go/b"},
		{"a plain name is a file or a folder", "cmd", "cmd cmd/a.go a/cmd/b a/b/cmd", "cmds a/cmd.go"},
		{"a leading slash anchors", "/cmd", "cmd cmd/a", "a/cmd"},
		{"a slash inside anchors", "a/b", "a/b a/b/c", "x/a/b a/bc"},
		{"a trailing slash changes nothing", "cmd/", "cmd/a a/cmd/b", "b"},
		{"a star stays in its folder", "a/*.go", "a/x.go", "a/b/x.go x.go"},
		{"two stars cross folders", "a/**/x.go", "a/x.go a/b/c/x.go", "b/a/x.go"},
		{"leading stars", "**/x.go", "x.go a/b/x.go", "ax.go"},
		{"trailing stars", "a/**", "a/b a/b/c", "b/a"},
		{"braces", "{cmd,*.md}", "cmd/a b.md c/b.md", "b.md/x"},
		{"a brace that is not closed", "a{b", "a{b a{b/c", "ab"},
		{"a class", "[ab].go", "a.go x/b.go", "c.go"},
		{"an escape", `\*.go`, "*.go", "a.go"},
		{"exclusion alone keeps the rest", "!vendor", "a b/c", "vendor/a a/vendor/b"},
		{"exclusion wins", "*.go !x_*", "a.go", "x_a.go a.c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g, err := compileGlobs(strings.Fields(c.patterns))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range strings.Fields(c.keeps) {
				if !g.match(path) {
					t.Errorf("%s does not keep %s", c.patterns, path)
				}
			}
			for _, path := range strings.Fields(c.drops) {
				if g.match(path) {
					t.Errorf("%s keeps %s", c.patterns, path)
				}
			}
		})
	}
	for _, bad := range []string{"", "/", "!", "a[", `a\`, strings.Repeat("{a,b}", 7), strings.Repeat("a", MaxGlobBytes+1)} {
		var refused *BadQuery
		if _, err := compileGlobs([]string{bad}); !errors.As(err, &refused) || refused.Field != "paths" {
			t.Errorf("compileGlobs(%.20q) = %v, want a BadQuery of paths", bad, err)
		}
	}
}
