package tool_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/freshet/freshet/mcp/tool"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, want string }{
		{"plain text stays", "a\tb\nc", "a\tb\nc"},
		{"words of all scripts stay", "größe 変数 😀", "größe 変数 😀"},
		{"terminal escape", "\x1b[31mred", `\x1b[31mred`},
		{"bell and delete", "\a\x7f", `\x07\x7f`},
		{"bidi override", "a\u202eb", `a\u202eb`},
		{"zero width", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"tag characters", "a\U000e0041", `a\U000e0041`},
		{"blank that poses as a letter", "\u3164", `\u3164`},
		{"invalid bytes", "a\xff\xc3", `a\xff\xc3`},
		{"line ends of windows", "a\r\nb", "a\nb"},
		{"a lone carriage return", "a\rb", `a\x0db`},
		{"no-break space", "a\u00a0b", `a\xa0b`},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := tool.Visible(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202e\x1b[0m\xff")
	f.Fuzz(func(t *testing.T, s string) {
		shown := tool.Visible(s)
		for _, r := range shown {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("%q shows %U", s, r)
			}
		}
		if again := tool.Visible(shown); again != shown {
			t.Fatalf("%q shows as %q and then as %q", s, shown, again)
		}
	})
}

// FuzzMarkdownFences plants text in a hit and expects it to stay inside its fence.
func FuzzMarkdownFences(f *testing.F) {
	f.Add("```\n# not a heading\n````\n")
	f.Fuzz(func(t *testing.T, body string) {
		e := tool.Succeeded(tool.Report{})
		e.Results = []tool.Hit{{FilePath: "a.go", StartLine: 1, EndLine: 1, Content: body, Verified: true}}
		lines := strings.Split(tool.Markdown(e), "\n")
		if body == "" {
			return
		}
		fence := strings.TrimRight(lines[1], "abcdefghijklmnopqrstuvwxyz")
		closing := 0
		for _, line := range lines[2:] {
			if strings.TrimSpace(line) == fence {
				closing++
			}
		}
		if closing != 1 || strings.Trim(fence, "`") != "" {
			t.Fatalf("fence %q closes %d times in %q", fence, closing, lines)
		}
	})
}
