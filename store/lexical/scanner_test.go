package lexical

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestScanner(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, text, want string }{
		{"empty", "", ""},
		{"no word", " \t\n{}()", ""},
		{"camel", "parseHTTPRequest", "parse http request"},
		{"acronym first", "HTTPServer", "http server"},
		{"plural acronym", "parseURLs IDs URLsOf Is", "parse urls ids urls of is"},
		{"snake", "snake_case__VALUE", "snake case value"},
		{"digits", "sha256sum utf8 2fa", "sha 256 sum utf 8 2 fa"},
		{"one letter", "aB a_b x", "a b a b x"},
		{"capital word", "Server.Close()", "server close"},
		{"accents", "größeÄndern ÉCOLE ÉCOLEMaire", "größe ändern école école maire"},
		{"mark", "cafe\u0301Bar", "cafe\u0301 bar"},
		{"ideographs", "日本go", "日 本 go"},
		{"invalid", "a\xffb\xc3", "a b"},
		{"punctuation beyond ASCII", "naïve—test", "naïve test"},
		{"hash", "x da39a3ee5e6b4b0d3255bfef95601890afd80709 y", "x da39a3ee5e6b4b0d3255bfef95601890 y"},
		{"long identifier", "thisIsAVeryLongIdentifierThatGoesOnAndOn",
			"this is a very long identifier that goes on and on"},
		{"long word", strings.Repeat("z", 100), strings.Repeat("z", 64)},
		{"long capitals", strings.Repeat("Z", 100), strings.Repeat("z", 64)},
		{"long wide word", strings.Repeat("ä", 100), strings.Repeat("ä", 32)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(strings.Fields(c.want), Words(c.text), cmpEmpty()); diff != "" {
				t.Errorf("Words(%q) (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func cmpEmpty() cmp.Option {
	return cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })
}

// naiveWords is the slow twin: it works on runes and marks every place where a word ends.
func naiveWords(text []byte) []string {
	var words []string
	for _, run := range naiveRuns(text) {
		if isBlob(run) {
			words = append(words, strings.ToLower(string(run[:blobToken])))
			continue
		}
		start := 0
		for i := 1; i <= len(run); i++ {
			if i == len(run) || naiveBoundary(run[start:], i-start) {
				words = append(words, naiveLower(run[start:i]))
				start = i
			}
		}
	}
	return words
}

func naiveRuns(text []byte) (runs [][]rune) {
	var run []rune
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if broken := r == utf8.RuneError && size <= 1; !broken && naiveClass(r) != other {
			run = append(run, r)
		} else if run != nil {
			runs = append(runs, run)
			run = nil
		}
		text = text[size:]
	}
	if run != nil {
		runs = append(runs, run)
	}
	return runs
}

func naiveClass(r rune) uint8 {
	switch {
	case r >= 0x80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return ideal
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r), unicode.IsMark(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	}
	return other
}

// naiveBoundary reports whether a word ends before word[i].
func naiveBoundary(word []rune, i int) bool {
	at := func(k int) uint8 {
		if k >= len(word) {
			return other
		}
		return naiveClass(word[k])
	}
	before, now, next := at(i-1), at(i), at(i+1)
	allUpper := true
	for _, r := range word[:i] {
		allUpper = allUpper && naiveClass(r) == upper
	}
	pluralAt := func(k int) bool { return word[k] == 's' && at(k+1) != lower }
	plural := word[i-1] == 's' && i >= 3 && before == lower && naiveClass(word[i-2]) == upper &&
		naiveClass(word[i-3]) == upper
	switch {
	case before == ideal || now == ideal, plural:
		return true
	case before == lower && now == lower:
		return false
	case before == upper && now == lower:
		return allUpper && i >= 2 && !pluralAt(i)
	case allUpper && now == upper && next == lower:
		return !pluralAt(i + 1)
	}
	return before != now
}

func naiveLower(word []rune) string {
	out := ""
	for _, r := range word {
		if len(out)+utf8.RuneLen(unicode.ToLower(r)) > MaxToken {
			break
		}
		out += string(unicode.ToLower(r))
	}
	return out
}

func isBlob(run []rune) bool {
	if len(run) < blobRun {
		return false
	}
	words := 0
	for i, r := range run {
		if r >= 0x80 {
			return false
		}
		if i == 0 {
			words++
			continue
		}
		before, now := naiveClass(run[i-1]), naiveClass(r)
		if capitalized := before == upper && now == lower; before != now && !capitalized {
			words++
		}
	}
	return words*blobWord > len(run)
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{"HTTPServer", "URLs", "aÄb日本", "x\xff9", "ABCs1Is", "ÄÖs ÄÖsx",
		"da39a3ee5e6b4b0d3255bfef95601890afd80709"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := Words(string(text))
		if want := naiveWords(text); !slices.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", text, got, want)
		}
		var s Scanner
		s.Reset(text)
		for last := 0; s.Next(); {
			start, end := s.Span()
			if start < last || end <= start || end > len(text) || len(s.Token()) > MaxToken {
				t.Fatalf("%q: span [%d,%d) after %d, token %q", text, start, end, last, s.Token())
			}
			last = end
		}
	})
}

func TestScannerDoesNotAllocate(t *testing.T) {
	text := []byte(strings.Repeat("func (s *HTTPServer) closeIdle(größe int) error { return s.conn9.Close() }\n", 50))
	var s Scanner
	if n := testing.AllocsPerRun(10, func() {
		for s.Reset(text); s.Next(); {
			_ = s.Token()
		}
	}); n != 0 {
		t.Errorf("scanning allocates %v times, want 0", n)
	}
}

func BenchmarkScanner(b *testing.B) {
	text := bytes.Repeat([]byte("func (s *HTTPServer) closeIdleConns(ctx context.Context) error {\n\treturn s.conn9.Close()\n}\n"), 1000)
	b.SetBytes(int64(len(text)))
	var s Scanner
	for b.Loop() {
		for s.Reset(text); s.Next(); {
		}
	}
}
