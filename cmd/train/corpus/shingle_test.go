package corpus

import (
	"fmt"
	"strings"
	"testing"
)

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "\tstatement number %d\n\n", i*i)
	}
	return b.String()
}

func TestCopied(t *testing.T) {
	t.Parallel()
	header := strings.Repeat("// a line of a licence\n// another line of it\n", 8)
	s := NewShingles()
	s.Add([]byte(header + lines(0, 200)))
	s.Add([]byte(header + lines(1000, 1200)))
	s.Add([]byte(header + lines(2000, 2200)))
	cases := []struct {
		name, text string
		want       bool
	}{
		{"the same", header + lines(0, 200), true},
		{"indented otherwise", strings.ReplaceAll(lines(0, 200), "\t", "    "), true},
		{"one line in twenty changed", strings.ReplaceAll(lines(0, 200), "0\n", "0 // changed\n"), true},
		{"a part of it", lines(50, 150), true},
		{"a part in something larger", lines(5000, 5100) + lines(50, 110), true},
		{"the licence only", header + lines(3000, 3200), false},
		{"something else", lines(3000, 3200), false},
		{"too short to tell", lines(0, 4), false},
		{"nothing", "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := s.Copied([]byte(c.text)); got != c.want {
				t.Errorf("copied: %v, want %v", got, c.want)
			}
		})
	}
}
