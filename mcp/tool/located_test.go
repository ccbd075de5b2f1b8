package tool

import (
	"strings"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// A hit is known by the definition that was matched, or else by the innermost one around the
// line that holds the words of the query; the largest of the chunk is the last resort.
func TestHitIsKnownByWhatMatched(t *testing.T) {
	t.Parallel()
	text := strings.Join([]string{
		"import gone", // 1
		"type Large struct {",
		"\tfield int",
		"\tother int",
		"\tlast int",
		"}",
		"// Small closes the door.", // 7
		"func Small() {",
		"\tretry(later)",
		"}",
	}, "\n") + "\n"
	syntax := store.Syntax{Definitions: []store.Definition{
		{Name: "Large", Kind: "struct", StartLine: 2, EndLine: 6, Start: 12, End: 60, Parent: -1},
		{Name: "field", Kind: "field", StartLine: 3, EndLine: 3, Start: 34, End: 43, Parent: 0},
		{Name: "Small", Kind: "function", Doc: "Small closes the door.", StartLine: 8, EndLine: 10, Start: 90, End: 120, Parent: -1},
	}}
	cases := []struct {
		name, query, want string
		hit               search.Hit
	}{
		{"a line in a smaller definition", "retry later", "Small", search.Hit{StartLine: 1, EndLine: 10, BestStart: 1, BestEnd: 10}},
		{"a doc comment", "door", "Small", search.Hit{StartLine: 1, EndLine: 10, BestStart: 1, BestEnd: 10}},
		{"no word at all", "unspoken", "Large", search.Hit{StartLine: 1, EndLine: 10, BestStart: 1, BestEnd: 10}},
		{"the best of the joined chunks", "unspoken", "Small", search.Hit{StartLine: 1, EndLine: 10, BestStart: 7, BestEnd: 10}},
		{"a named definition", "field", "field", search.Hit{StartLine: 1, EndLine: 10, Located: true, Definition: &syntax.Definitions[1]}},
		{"a matching line", "other", "Large", search.Hit{StartLine: 4, EndLine: 4, Located: true, Definition: &syntax.Definitions[0]}},
		{"a matching line on which another begins", "func", "Large", search.Hit{StartLine: 8, EndLine: 8, Located: true, Definition: &syntax.Definitions[0]}},
		{"a matching line outside of all", "import", "", search.Hit{StartLine: 1, EndLine: 1, Located: true}},
	}
	for _, c := range cases {
		c.hit.Kind = search.HitChunk
		b := bodies{query: c.query}
		got := ""
		if at := b.matched(syntax, c.hit, []byte(text)); at >= 0 {
			got = syntax.Definitions[at].Name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if !misnamed(syntax, "struct Large > function Small") || misnamed(syntax, "heading Small") {
		t.Error("a place outside of definitions is known by the one beside it, or not by its heading")
	}
}
