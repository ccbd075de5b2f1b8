package ignore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// oddCases are what people get wrong about git's patterns. A path that ends in a slash is
// a directory.
var oddCases = []struct {
	name, file string
	ignored    []string
	kept       []string
}{
	{"name anywhere", "a\n", []string{"a", "b/a", "a/"}, []string{"ab", "b"}},
	{"leading slash anchors", "/a\n", []string{"a"}, []string{"b/a"}},
	{"middle slash anchors", "b/a\n", []string{"b/a"}, []string{"c/b/a"}},
	{"directory only", "a/\n", []string{"a/", "b/a/"}, []string{"a", "b/a"}},
	{"negation", "*.o\n!keep.o\n", []string{"x.o"}, []string{"keep.o"}},
	{"last one wins", "!a\na\n", []string{"a"}, nil},
	{"parent decides", "d/\n!d/a\n", []string{"d/a", "d/"}, nil},
	{"contents of a directory", "d/*\n!d/a\n", []string{"d/b"}, []string{"d/a", "d/"}},
	{"comment and escaped number sign", "#a\n\\#b\n", []string{"#b"}, []string{"#a", "a"}},
	{"escaped exclamation mark", "\\!a\n", []string{"!a"}, []string{"a"}},
	{"double negation", "*\n!!a\n", []string{"a", "b"}, []string{"!a"}},
	{"trailing spaces", "a  \n", []string{"a"}, []string{"a  "}},
	{"escaped trailing space", "a\\ \n", []string{"a "}, []string{"a"}},
	{"escaped space among spaces", "a\\  \n", []string{"a "}, []string{"a", "a  "}},
	{"leading space counts", " a\n", []string{" a"}, []string{"a"}},
	{"trailing tab counts", "a\t\n", []string{"a\t"}, []string{"a"}},
	{"CRLF", "a\r\nb\r\n", []string{"a", "b"}, []string{"a\r"}},
	{"carriage return at the end of the file", "a\r", []string{"a"}, []string{"a\r"}},
	{"lone carriage return inside", "a\rb\n", []string{"a\rb"}, []string{"a"}},
	{"byte order mark", "\ufeffa\n", []string{"a"}, []string{"\ufeffa"}},
	{"byte order mark later", "b\n\ufeffa\n", []string{"b", "\ufeffa"}, []string{"a"}},
	{"no newline at the end", "a", []string{"a"}, nil},
	{"star does not cross slashes", "a/*/b\n", []string{"a/x/b"}, []string{"a/b", "a/x/y/b"}},
	{"leading double star", "**/a\n", []string{"a", "x/a", "x/y/a"}, []string{"xa"}},
	{"trailing double star", "a/**\n", []string{"a/b", "a/b/c"}, []string{"a/", "a"}},
	{"double star between slashes", "a/**/b\n", []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"ab", "a/xb"}},
	{"double star in a word", "a**b\n", []string{"ab", "axb"}, []string{"x/a/b"}},
	{"double star in a word of a path", "x/a**b\n", []string{"x/ab", "x/azb"}, []string{"x/a/b"}},
	{"double star after a literal", "ab**/c\n", []string{"ab/c", "abx/c", "abc"}, []string{"x/ab/c"}},
	{"question mark", "?\n", []string{"a", "b/c"}, []string{"ab"}},
	{"question mark is no slash", "a?b/c\n", []string{"axb/c"}, []string{"a/b/c"}},
	{"class", "[ab]\n", []string{"a", "b"}, []string{"c", "ab"}},
	{"negated classes", "[!a]\n[^x]y\n", []string{"b", "zy"}, []string{"a", "xy"}},
	{"bracket first in class", "[]a]\n", []string{"]", "a"}, []string{"b"}},
	{"range", "[a-c]\n", []string{"b"}, []string{"d", "-"}},
	{"dash at the end", "[a-]\n", []string{"a", "-"}, []string{"b"}},
	{"POSIX class", "[[:digit:]]x\n", []string{"1x"}, []string{"ax", ":x"}},
	{"unknown POSIX class", "[[:digits:]]x\n", nil, []string{"1x", "dx"}},
	{"POSIX class not closed", "[[:digit]\n", []string{":", "d", "["}, []string{"1", "x"}},
	{"escape in class", "[\\]]\n", []string{"]"}, []string{"\\"}},
	{"class not closed", "[ab\n", nil, []string{"a", "[ab"}},
	{"class is no slash", "a[/]b\n", nil, []string{"a/b"}},
	{"escaped star", "\\*\n", []string{"*"}, []string{"a"}},
	{"backslash at the end", "a\\\n", nil, []string{"a", "a\\"}},
	{"only a slash", "/\n", nil, []string{"a", "a/"}},
	{"only stars", "**\n", []string{"a", "a/", "b/c"}, nil},
	{"slash and star", "/*\n!/a\n", []string{"b", "b/c"}, []string{"a"}},
	{"directories kept", "*\n!*/\n!*.go\n", []string{"a", "b/c"}, []string{"a.go", "b/c.go", "b/"}},
	{"invalid UTF-8", "\xff*\n", []string{"\xffa"}, []string{"a"}},
	{"a byte, not a rune", "?\n", nil, []string{"é"}},
	{"NUL ends a line", "a\x00b\n", []string{"a"}, []string{"b"}},
	{"empty lines", "\n\n\r\n \na\n", []string{"a"}, []string{"b"}},
	{"dot files", "*\n", []string{".a"}, nil},
	{"ending with dots", "*.tar.gz\n", []string{"a.tar.gz"}, []string{"a.gz"}},
	{"ending without dot", "*~\n", []string{"a~"}, []string{"a"}},
}

func TestOddCases(t *testing.T) {
	t.Parallel()
	for _, tc := range oddCases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			read := func(dir string) []File {
				if dir != "" {
					return nil
				}
				return []File{{Path: GitIgnore, Data: []byte(tc.file)}}
			}
			check := func(paths []string, want bool) {
				for _, path := range paths {
					plain := strings.TrimSuffix(path, "/")
					if m := Resolve(nil, read, plain, plain != path); m.Ignored != want {
						t.Errorf("%q under %q: ignored is %v, want %v (%+v)", path, tc.file, m.Ignored, want, m)
					}
				}
			}
			check(tc.ignored, true)
			check(tc.kept, false)
		})
	}
}

func TestOddCasesEqualGit(t *testing.T) {
	t.Parallel()
	c := gitCases{files: map[string]string{}, dirs: map[string]bool{}}
	for i, tc := range oddCases {
		for j, path := range append(append([]string{}, tc.ignored...), tc.kept...) {
			dir := fmt.Sprintf("case%d-%d", i, j) // each path alone: "a" and "a/" exclude each other
			c.files[dir+"/"+GitIgnore] = tc.file
			plain := dir + "/" + strings.TrimSuffix(path, "/")
			c.dirs[plain] = strings.HasSuffix(path, "/")
			c.paths = append(c.paths, plain)
		}
	}
	compareWithGit(t, c)
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	exclude := (*Rules)(nil).Child("", File{Path: GitExclude, Data: []byte("*.x\n*.y\n*.z\n")})
	root := exclude.Child("", File{Path: GitIgnore, Data: []byte("!*.y\n*.w\n")}, File{Path: FreshetIgnore, Data: []byte("# ours\n!*.z\nown\n")})
	below := root.Child("d", File{Path: "d/.gitignore", Data: []byte("!own\n/here\n")})
	if below.Child("d/e") != below {
		t.Fatal("a directory without ignore files has rules of its own")
	}
	for path, want := range map[string]Match{
		"d/a.x":    {Ignored: true, File: GitExclude, Line: 1, Pattern: "*.x"},
		"d/a.y":    {File: GitIgnore, Line: 1, Pattern: "!*.y"},
		"d/a.z":    {File: FreshetIgnore, Line: 2, Pattern: "!*.z"},
		"d/own":    {File: "d/.gitignore", Line: 1, Pattern: "!own"},
		"d/here":   {Ignored: true, File: "d/.gitignore", Line: 2, Pattern: "/here"},
		"d/e/here": {},
	} {
		if diff := cmp.Diff(want, below.Match(path, false)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if m := root.Match("own", false); !m.Ignored {
		t.Errorf("own: %+v", m)
	}
}

func TestHostilePatternsStayCheap(t *testing.T) {
	t.Parallel()
	path := strings.Repeat("a/", 500) + "a"
	for _, pattern := range []string{strings.Repeat("**/a/", 400) + "b", strings.Repeat("*a", 2000) + "b", strings.Repeat("a/**/", 400) + "*b"} {
		rules := (*Rules)(nil).Child("", File{Path: GitIgnore, Data: []byte(pattern)})
		if rules.Match(path, false).Ignored || rules.Match(strings.Repeat("a", 250), false).Ignored {
			t.Errorf("%.20s matches", pattern)
		}
	}
}

// naiveGlob is the slow twin of the automaton: it tries everything.
func naiveGlob(tokens []token, text string) bool {
	if len(tokens) == 0 {
		return text == ""
	}
	t, rest := tokens[0], tokens[1:]
	switch t.kind {
	case maybeSkip:
		return naiveGlob(rest, text) || naiveGlob(tokens[3:], text)
	case star:
		for i := 0; ; i++ {
			if naiveGlob(rest, text[i:]) {
				return true
			}
			if i == len(text) || (text[i] == '/' && !t.slash) {
				return false
			}
		}
	}
	if text == "" {
		return false
	}
	ok := text[0] == t.b
	switch t.kind {
	case anyByte:
		ok = t.slash || text[0] != '/'
	case oneOf:
		ok = t.set.has(text[0])
	}
	return ok && naiveGlob(rest, text[1:])
}

func FuzzGlob(f *testing.F) {
	f.Add("**/a*[!b-d]?", "x/abe1")
	f.Add("a/**/b", "a/b")
	f.Add(strings.Repeat("[a]", 70), strings.Repeat("a", 70))
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if strings.Count(pattern, "*") > 6 || len(text) > 80 {
			return
		}
		for _, path := range []bool{false, true} {
			g := compile(pattern, path)
			if got := g.match(text); got != (!g.never && naiveGlob(g.tokens, text)) {
				t.Fatalf("%q matches %q: %v (path %v)", pattern, text, got, path)
			}
		}
	})
}

func FuzzRules(f *testing.F) {
	f.Add([]byte("!a\n*.o\r\n/b/**\n"), "b/c.o", true)
	f.Fuzz(func(t *testing.T, file []byte, path string, isDir bool) {
		rules := (*Rules)(nil).Child("", File{Path: GitIgnore, Data: file})
		got := rules.Match(path, isDir)
		want := Match{}
		for _, p := range parseFile(file) { // the slow way: no index, first to last
			name := path[strings.LastIndexByte(path, '/')+1:]
			if (isDir || !p.dirOnly) && ((p.anchored && p.matchesPath(path)) || (!p.anchored && p.matchesName(name))) {
				want = Match{Ignored: !p.negative, File: GitIgnore, Line: p.line, Pattern: p.text}
			}
		}
		if got != want {
			t.Fatalf("%q under %q: got %+v, want %+v", path, file, got, want)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	var lines []string
	for i := range 25 {
		lines = append(lines, fmt.Sprintf("*.ext%d", i), fmt.Sprintf("name%d", i), fmt.Sprintf("/dir%d/sub", i), fmt.Sprintf("build%d*/", i))
	}
	rules := (*Rules)(nil).Child("", File{Path: GitIgnore, Data: []byte(strings.Join(lines, "\n"))})
	for b.Loop() {
		rules.Match("internal/server/handler.go", false)
	}
}
