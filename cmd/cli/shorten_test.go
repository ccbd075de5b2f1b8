package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
)

func TestBrief(t *testing.T) {
	t.Parallel()
	text := func(lines int) string {
		var b strings.Builder
		for i := range lines {
			fmt.Fprintf(&b, "line %d\n", i+1)
		}
		return b.String()
	}
	tests := []struct {
		name  string
		hit   tool.Hit
		lines int
		more  string
	}{
		{"short", tool.Hit{Content: text(5)}, 5, ""},
		{"a little over", tool.Hit{Content: text(18)}, 18, ""},
		{"without a last line end", tool.Hit{Content: strings.TrimSuffix(text(16), "\n")}, 15, ""},
		{"long", tool.Hit{Content: text(40), FilePath: "a.go", StartLine: 3, EndLine: 42}, 17, "... 24 more lines: freshet read a.go:3-42\n"},
		{"read, not searched", tool.Hit{Content: text(40), Index: "indexed"}, 40, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &tool.Envelope{Results: []tool.Hit{tt.hit}}
			got := brief(e).Results[0].Content
			if n := strings.Count(got, "\n"); n != tt.lines {
				t.Errorf("%d lines, want %d: %q", n, tt.lines, got)
			}
			if !strings.HasSuffix(got, tt.more) {
				t.Errorf("ends with %q, want %q", got[max(0, len(got)-60):], tt.more)
			}
			if e.Results[0].Content != tt.hit.Content {
				t.Error("the envelope itself was changed")
			}
		})
	}
}
