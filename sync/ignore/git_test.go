package ignore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// gitCases writes ignore files into one repository and lists the paths to ask about.
// Every case lives in a directory of its own, so that one process answers for all.
type gitCases struct {
	files map[string]string // path of an ignore file -> its bytes
	dirs  map[string]bool   // paths to be made as directories
	paths []string
}

// answer is what git says of a path: file, line and pattern, or three empty strings.
type answer struct{ file, line, pattern string }

// askGit runs the real git over the cases, in an empty environment that reads no
// configuration and runs no hook.
func askGit(t *testing.T, c gitCases) map[string]answer {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	run := func(stdin string, args ...string) []byte {
		cmd := exec.Command(git, append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.excludesFile=/dev/null"}, args...)...)
		cmd.Dir, cmd.Stdin = root, strings.NewReader(stdin)
		cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME=" + root, "LC_ALL=C"}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatalf("git %v: %v: %s", args, err, &stderr)
		}
		return out
	}
	run("", "init", "-q", "--template=")
	for dir, is := range c.dirs {
		if !is {
			continue
		}
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range c.files {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := run(strings.Join(c.paths, "\x00")+"\x00", "check-ignore", "--stdin", "-z", "--no-index", "-v", "-n")
	fields := strings.Split(string(out), "\x00")
	answers := map[string]answer{}
	for ; len(fields) >= 4; fields = fields[4:] {
		answers[fields[3]] = answer{fields[0], fields[1], fields[2]}
	}
	return answers
}

// ours answers the same question with this package.
func ours(c gitCases, path string) answer {
	read := func(dir string) []File {
		name := strings.TrimPrefix(dir+"/"+GitIgnore, "/")
		if text, ok := c.files[name]; ok {
			return []File{{Path: name, Data: []byte(text)}}
		}
		return nil
	}
	var exclude *Rules
	if text, ok := c.files[GitExclude]; ok {
		exclude = exclude.Child("", File{Path: GitExclude, Data: []byte(text)})
	}
	m := Resolve(exclude, read, path, c.dirs[path])
	if m.File == "" {
		return answer{}
	}
	return answer{m.File, strconv.Itoa(m.Line), m.Pattern}
}

func compareWithGit(t *testing.T, c gitCases) (compared, ignored int) {
	t.Helper()
	answers := askGit(t, c)
	wrong := 0
	for _, path := range c.paths {
		want, ok := answers[path]
		if !ok {
			t.Fatalf("git did not answer for %q", path)
		}
		if want.file != "" && !strings.HasPrefix(want.pattern, "!") {
			ignored++
		}
		if got := ours(c, path); got != want {
			if wrong++; wrong <= 20 {
				dir, _, _ := strings.Cut(path, "/")
				t.Errorf("%q (directory %v): got %q, git says %q; %q", path, c.dirs[path], got, want, c.files[dir+"/"+GitIgnore])
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d differ", wrong, len(c.paths))
	}
	return len(c.paths), ignored
}

// pieces of random patterns; many sit on the edges of git's grammar.
var (
	patternPieces = []string{"a", "b", "foo", ".", "-", "*", "**", "***", "?", "/", "/", "//", "**/", "/**", "/**/", "\\", "\\*", "\\/", "\\ ",
		"[ab]", "[!a]", "[^a]", "[]a]", "[!]a]", "[a-c]", "[c-a]", "[[:alpha:]]", "[[:digit:]b]", "[[:bogus:]]", "[[:a]", "[a", "[", "]", "[\\]]", "[a\\-c]", "[--a]", "[a-]", "[!/]", "[/]", "1", " ", "\t", "é", "\xff", "*.o", ".o"}
	nameSymbols = []string{"a", "b", "c", "foo", ".o", ".", "-", "1", "]", "[", "\\", "*", " ", "é", "\xff", "!", "#", "x"}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func randomPattern(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(pick(r, []string{"", "", "", "", "!", "/", "\\!", "#", "\\#", "!/", "!!"}))
	for range 1 + r.IntN(5) {
		b.WriteString(pick(r, patternPieces))
	}
	b.WriteString(pick(r, []string{"", "", "", "", "/", " ", "  ", "\\ ", "\r", "\r\r", "\t", "/ ", "\x00b"}))
	return b.String()
}

func randomName(r *rand.Rand) string {
	for {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			b.WriteString(pick(r, nameSymbols))
		}
		if s := b.String(); s != "." && s != ".." {
			return s
		}
	}
}

// nameLike makes a path that has a fair chance to match pattern.
func nameLike(r *rand.Rand, pattern string) string {
	s := strings.NewReplacer("**/", pick(r, []string{"", "a/", "a/b/"}), "/**", pick(r, []string{"/a", "/a/b"}), "**", pick(r, []string{"a", ""}),
		"*", pick(r, []string{"", "a", "foo"}), "?", "a", "[ab]", "b", "[!a]", "b", "[^a]", "c", "[]a]", "]", "[a-c]", "b", "[[:alpha:]]", "x",
		"[[:digit:]b]", "1", "\\", "", "!", "", "\r", "", "\t", "", "\x00", "", "[!/]", "a", "[a-]", "-", "[--a]", "a").Replace(pattern)
	var names []string
	for name := range strings.SplitSeq(strings.Trim(s, "/ "), "/") {
		if name == "" || name == "." || name == ".." {
			name = "a"
		}
		names = append(names, name)
	}
	return strings.Join(names, "/")
}

func TestEqualsGitOnRandomPatterns(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(14, 10_000))
	c := gitCases{files: map[string]string{}, dirs: map[string]bool{}}
	for i := range 1_000 {
		dir := fmt.Sprintf("c%d", i)
		var lines []string
		for range 1 + r.IntN(4) {
			lines = append(lines, randomPattern(r))
		}
		c.files[dir+"/"+GitIgnore] = pick(r, []string{"", "", "", "\ufeff"}) + strings.Join(lines, "\n") + pick(r, []string{"\n", "", "\r\n", "\n\n"})
		seen := map[string]bool{}
		for j := range 20 {
			path := nameLike(r, pick(r, lines))
			if j%3 == 0 {
				path = randomName(r)
				for range r.IntN(3) {
					path += "/" + randomName(r)
				}
			}
			path = dir + "/" + path
			if seen[path] || strings.HasSuffix(path, "/"+GitIgnore) || len(path) > 200 {
				continue
			}
			seen[path] = true
			c.paths = append(c.paths, path)
		}
		c.makeSomeDirectories(r, slices.Sorted(maps.Keys(seen)))
	}
	compared, ignored := compareWithGit(t, c)
	if compared < 10_000 || ignored < 500 {
		t.Fatalf("%d pairs compared, %d of them ignored: too few to prove anything", compared, ignored)
	}
	t.Logf("%d paths under 1,000 random ignore files, %d ignored", compared, ignored)
}

// makeSomeDirectories turns some paths into directories on disk. Git takes a path that does
// not exist for a file, and one above another for a directory.
func (c *gitCases) makeSomeDirectories(r *rand.Rand, paths []string) {
	for _, path := range paths {
		if r.IntN(5) > 0 {
			continue
		}
		for i := range len(path) {
			if path[i] == '/' {
				c.dirs[path[:i]] = true
			}
		}
		c.dirs[path] = true
	}
}

func TestEqualsGitOnNestedFiles(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	c := gitCases{files: map[string]string{GitExclude: "excluded\n!kept\n*.tmp\n"}, dirs: map[string]bool{}}
	names := []string{"a", "b", "excluded", "kept", "x.tmp", "x.o"}
	lines := []string{"a", "/a", "a/", "!a", "*.o", "!*.o", "b/**", "!b/x.o", "**/b", "excluded", "!excluded", "!x.tmp", "a/b", "/*", "!/b", "!*/", "*"}
	for i := range 300 {
		base := fmt.Sprintf("n%d", i)
		for _, dir := range []string{base, base + "/a", base + "/a/b", base + "/b"} {
			c.dirs[dir] = true
			if r.IntN(2) == 0 {
				c.files[dir+"/"+GitIgnore] = pick(r, lines) + "\n" + pick(r, lines) + "\n" + pick(r, lines) + "\n"
			}
			for _, name := range names {
				c.paths = append(c.paths, dir+"/"+name)
			}
		}
	}
	compared, ignored := compareWithGit(t, c)
	t.Logf("%d paths, %d ignored", compared, ignored)
}
