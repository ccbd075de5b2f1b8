package scan

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet/freshet/store"
)

func TestRef(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no git":                {map[string]string{"a": ""}, ""},
		"branch":                {map[string]string{".git/HEAD": "ref: refs/heads/topic/x\n"}, "topic/x"},
		"detached":              {map[string]string{".git/HEAD": commit + "\n"}, commit[:12]},
		"other ref":             {map[string]string{".git/HEAD": "ref: refs/bisect/x\n"}, "refs/bisect/x"},
		"worktree":              {map[string]string{".git": "gitdir: elsewhere/w\n", "elsewhere/w/HEAD": "ref: refs/heads/w\n"}, "w"},
		"nonsense":              {map[string]string{".git/HEAD": "hello\n"}, ""},
		"short hexadecimal":     {map[string]string{".git/HEAD": "abcd\n"}, ""},
		"HEAD is far too large": {map[string]string{".git/HEAD": "ref: refs/heads/" + strings.Repeat("x", 5000)}, ""},
		"gitdir to nowhere":     {map[string]string{".git": "gitdir: /nonexistent\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTree(t, Options{})
			for path, text := range tc.files {
				w.write(path, text)
			}
			if got := Ref(w.root); got != tc.want {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestExcludeOfAWorktree(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	common := filepath.Join(t.TempDir(), "git")
	admin := filepath.Join(common, "worktrees", "w")
	w.must(os.MkdirAll(filepath.Join(common, "info"), 0o755))
	w.must(os.MkdirAll(admin, 0o755))
	put := func(path, text string) { w.must(os.WriteFile(path, []byte(text), 0o600)) }
	put(filepath.Join(common, "info", "exclude"), "*.log\n")
	put(filepath.Join(admin, "commondir"), "../..\n")
	put(filepath.Join(admin, "HEAD"), "ref: refs/heads/w\n")
	w.write(".git", "gitdir: "+admin+"\n")
	w.write("a.log", "x\n")
	w.want(w.scan(), "a.log") // the directory does not point back: it is not believed
	put(filepath.Join(admin, "gitdir"), w.path(".git")+"\n")
	w.want(w.scan(), "-a.log")
	if Ref(w.root) != "w" {
		t.Fatalf("ref %q", Ref(w.root))
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write(".gitignore", "# comment\n*.log\n/build/\n!keep.log\n")
	w.write("a/.freshetignore", "gen_*\n")
	w.write("a/gen_x.go", "package a\n")
	w.write("a/y.go", "package a\n")
	w.write("build/deep/z.go", "package z\n")
	w.write("keep.log", "x\n")
	w.write(".git/config", "")
	w.scanner.root = w.root
	for path, want := range map[string]struct {
		leftOut         store.LeftOut
		file, directory string
		line            int
		pattern         string
	}{
		"a/gen_x.go":      {store.LeftOutIgnored, "a/.freshetignore", "", 1, "gen_*"},
		"a/y.go":          {},
		"build/deep/z.go": {store.LeftOutIgnored, ".gitignore", "build", 3, "/build/"},
		"keep.log":        {"", ".gitignore", "", 4, "!keep.log"},
		"./a//y.go":       {},
		"":                {},
		w.path("a/y.go"):  {},
	} {
		x, err := w.scanner.Explain(path)
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		if x.LeftOut != want.leftOut || x.Match.File != want.file || x.Match.Line != want.line || x.Match.Pattern != want.pattern || x.Directory != want.directory {
			t.Errorf("%q is explained as %+v, want %+v", path, x, want)
		}
	}
	for path, want := range map[string]error{
		"../x": ErrOutside, "/etc/passwd": ErrOutside, "a/../../x": ErrOutside, ".git/config": ErrInGit, "a/.git/x": ErrInGit,
		"missing": ErrMissing, "a/y.go/z": ErrMissing, "missing/x": ErrMissing, "a\x00b": ErrOutside,
	} {
		if _, err := w.scanner.Explain(path); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", path, err, want)
		}
	}
}
