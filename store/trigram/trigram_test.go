package trigram_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/freshet/freshet/store/trigram"
)

func indexOf(t testing.TB, texts [][]byte) *trigram.Index {
	t.Helper()
	b := trigram.NewBuilder()
	for _, text := range texts {
		b.Add(text)
	}
	x, err := trigram.Open(b.Bytes(), len(texts))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func queryOf(t testing.TB, pattern string) *trigram.Query {
	t.Helper()
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	return trigram.Regexp(tree.Simplify())
}

// No text that matches is left out, whatever the expression, the case and the bytes.
func TestMatchLeavesOutNoTextThatMatches(t *testing.T) {
	atoms := []string{
		"foo", "Bar", "handle", "err", "x", "é", "K", "ſtreet", "straße", "日本語", ".", "\\w", "[a-c]", "[^a]", "\\s*", "(?i:kelvin)",
		"(?i:STREET)", "\\bfoo", "Bar$", "^err", "(foo|Bar)", "(?:é|x)?", "(foo)+", "o{2,3}", "(ab){3}", "\\n", "\\x{fffd}", "[xyzé]", "a|b",
	}
	pieces := []string{
		"foo", "FOO", "bar", "Bar", "handle", "err ", "x", "é", "É", "k", "K", "\u212a", "elvin", "ELVIN", "\u017ftreet", "street", "STREET", "stra\u00dfe",
		"日本語", "\n", "\r\n", " ", "ooo", "abab", "ababab", "\xff", "\xc3", "a", "b", "c", "z",
	}
	rapid.Check(t, func(t *rapid.T) {
		texts := make([][]byte, rapid.IntRange(1, 40).Draw(t, "texts"))
		for i := range texts {
			texts[i] = []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "text"), ""))
		}
		b := trigram.NewBuilder()
		for _, text := range texts {
			b.Add(text)
		}
		x, err := trigram.Open(b.Bytes(), len(texts))
		if err != nil {
			t.Fatal(err)
		}
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom(atoms), 1, 4).Draw(t, "pattern"), "")
		compiled, tree := regexp.MustCompile(pattern), must(syntax.Parse(pattern, syntax.Perl))
		query := trigram.Regexp(tree.Simplify())
		found, err := x.Match(query)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if compiled.Match(text) && !found.Has(i) {
				t.Fatalf("%q matches %q, and is left out by %s", pattern, text, query)
			}
		}
		literal := rapid.SampledFrom(pieces).Draw(t, "first") + rapid.SampledFrom(pieces).Draw(t, "second")
		found, err = x.Match(trigram.Literal(literal))
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if bytes.Contains(text, []byte(literal)) && !found.Has(i) {
				t.Fatalf("%q holds %q, and is left out", text, literal)
			}
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What an expression asks for, so that a query that has become blunt is seen.
func TestRegexpAsksForWhatEveryMatchHolds(t *testing.T) {
	for pattern, want := range map[string]string{
		"hello":                 "ell hel llo",
		"Hello":                 "ell hel llo",
		"(?i)hello":             "ell hel llo",
		"he":                    "everything",
		"abc|def":               "abc | def",
		"(abc|def)ghi":          "abc bcg cgh ghi | def efg fgh ghi",
		"ab[cd]e":               "abc bce | abd bde",
		"abc.*def":              "abc def",
		"abc\\s+def":            "abc def",
		"(abc)?":                "everything",
		"(abc)+":                "abc",
		"(abc)*def":             "def",
		"abc?d":                 "abd | abc bcd",
		"^func \\(\\w+ \\*?\\w": "c ( fun nc  unc",
		"a.b.c":                 "everything",
		"abc\ndef":              "abc def",
		"(?i)ask":               "ask",
		"[a-z]+Handler":         "and dle han ler ndl",
		"abc(de|fg|.*)hij":      "abc hij",
		"(ab){2}":               "aba bab",
		"(abc|.)":               "everything",
	} {
		if got := queryOf(t, pattern).String(); got != want {
			t.Errorf("%q asks for %q, want %q", pattern, got, want)
		}
	}
}

// A selective query names few texts that do not match.
func TestMatchIsSelective(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([][]byte, 2000)
	for i := range texts {
		words := make([]string, 200)
		for j := range words {
			words[j] = fmt.Sprintf("word%d", random.IntN(3000))
		}
		texts[i] = []byte(strings.Join(words, " "))
	}
	texts[777] = append(texts[777], " unmistakable"...)
	x := indexOf(t, texts)
	found, err := x.Match(queryOf(t, "unmis\\w+"))
	if err != nil || found.Count() != 1 || !found.Has(777) {
		t.Errorf("found %d texts (%v), want one", found.Count(), err)
	}
}

func TestEmptyIndex(t *testing.T) {
	x := indexOf(t, nil)
	for _, pattern := range []string{"", "abc", "abc|x"} {
		if found, err := x.Match(queryOf(t, pattern)); err != nil || found.Count() != 0 {
			t.Errorf("%q: %d texts (%v), want none", pattern, found.Count(), err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	b := trigram.NewBuilder()
	for i := range 40 {
		b.Add(fmt.Appendf(nil, "text %d of forty, and some more %d", i, i*i))
	}
	f.Add(b.Bytes(), "forty")
	f.Add([]byte{}, "abc")
	f.Fuzz(func(t *testing.T, data []byte, literal string) {
		x, err := trigram.Open(data, 40)
		if err != nil {
			return
		}
		if found, err := x.Match(trigram.Literal(literal)); err == nil && found.Count() > 40 {
			t.Errorf("%d texts of 40", found.Count())
		}
	})
}

func FuzzRegexp(f *testing.F) {
	f.Add("a(b|c)*d{2,5}", "abcdd")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil || len(pattern) > 200 {
			return
		}
		query := trigram.Regexp(tree.Simplify())
		found, err := indexOf(t, [][]byte{[]byte(text), nil}).Match(query)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(pattern).MatchString(text) && !found.Has(0) {
			t.Errorf("%q matches %q, and is left out by %s", pattern, text, query)
		}
	})
}
