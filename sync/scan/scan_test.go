package scan

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/store"
)

func TestUnchangedTreeIsNotRead(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write("a.go", "package a\n")
	w.write("dir/b.go", "package b\n")
	w.write("dir/.gitignore", "*.log\n")
	w.write("dir/x.log", "x")
	w.want(w.scan(), "a.go", "dir/.gitignore", "dir/b.go")
	before := w.index
	r := w.scan()
	if len(r.Stats)+len(r.Changed)+len(r.StatRemoves) != 0 || r.Index != before {
		t.Fatalf("differences without a change: %+v", r)
	}
	want := Summary{Files: 3, Directories: 2, Bytes: 26, LeftOut: map[store.LeftOut]int{store.LeftOutIgnored: 1}, Stated: 3}
	if diff := cmp.Diff(want, r.Summary); diff != "" {
		t.Fatal(diff)
	}
	w.reload()
	r = w.scan()
	if len(r.Stats)+len(r.Changed) != 0 || r.Summary.HashedBytes != 0 || r.Summary.Listed != 0 {
		t.Fatalf("differences after loading: %+v", r)
	}
}

func TestTouchChmodAndRewriteChangeNoLeaf(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	for _, name := range []string{"touched", "moded", "rewritten", "replaced", "linked"} {
		w.write(name+".go", "package "+name+"\n")
	}
	w.scan()
	w.must(os.Chtimes(w.path("touched.go"), time.Time{}, time.Unix(1e9, 0)))
	w.must(os.Chmod(w.path("moded.go"), 0o600))
	w.write("rewritten.go", "package rewritten\n")
	w.write("new", "package replaced\n")
	w.must(os.Rename(w.path("new"), w.path("replaced.go")))
	w.must(os.Link(w.path("linked.go"), w.path(".env")))
	r := w.scan()
	w.want(r)
	if r.Summary.DigestedBytes != 0 {
		t.Fatalf("%d bytes digested again", r.Summary.DigestedBytes)
	}
}

func TestDifferencesCostWhatChanged(t *testing.T) {
	t.Parallel()
	for _, files := range []int{500, 3_000} {
		w := newTree(t, settled())
		for i := range files {
			w.write(fmt.Sprintf("d%d/e%d/f%d.go", i%10, i%100, i), fmt.Sprintf("package p%d\n", i))
		}
		w.scan()
		for i := range 5 {
			w.write(fmt.Sprintf("d%d/e%d/f%d.go", i, i, i), "package changed // longer\n")
		}
		r := w.scan()
		if len(r.Stats) != 5 || len(r.Changed) != 5 || r.Summary.Read != 5 || r.Summary.Listed != 0 {
			t.Fatalf("%d files: %d entries, %d leaves, %d read, %d listed; want 5, 5, 5, 0", files, len(r.Stats), len(r.Changed), r.Summary.Read, r.Summary.Listed)
		}
		if want := int64(5 * len("package changed // longer\n")); r.Summary.HashedBytes != want {
			t.Fatalf("%d bytes hashed, want %d", r.Summary.HashedBytes, want)
		}
		w.write("d1/e1/new.go", "package added\n")
		w.remove("d2/e2/f2.go")
		r = w.scan()
		if diff := cmp.Diff([]string{"d1/e1", "d1/e1/new.go", "d2/e2"}, keys(r)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestAScanThatIsNotCommittedIsRepeated(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write("a.go", "package a\n")
	w.scan()
	w.write("a.go", "package other\n")
	lost, err := w.try() // never committed
	w.must(err)
	w.want(lost, "a.go")
	w.want(w.scan(), "a.go")
}

func TestIndexThatLostEntriesListsAgain(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write("a/b.go", "package b\n")
	w.write("a/c.go", "package c\n")
	w.scan()
	delete(w.stats, "a/b.go")
	w.reload()
	w.merkle, _ = w.index.Tree()
	w.want(w.scan(), "a/b.go")
	w.sameAsNaive()
}

func TestFileAndDirectoryChangePlaces(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write("a", "a file\n")
	w.write("b/c", "in a directory\n")
	w.scan()
	w.remove("a")
	w.write("a/x/y", "now a directory\n")
	w.remove("b")
	w.write("b", "now a file\n")
	w.want(w.scan(), "-a", "a/x/y", "b", "-b/c")
	w.sameAsNaive()
	w.reload()
	w.want(w.scan())
}

func TestLeftOutByReason(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	long := strings.Repeat("x", 100<<10)
	for name, text := range map[string]string{
		"ignored.log": "x", ".gitignore": "*.log\nbuild/\n", "build/out.go": "package out\n",
		"binary.dat": "a\x00b", "wide.txt": "\xff\xfea\x00", "late.txt": strings.Repeat("a", 9000) + "\x00",
		"app.min.js": long, "one-line.txt": long, "lines.js": strings.Repeat(strings.Repeat("y", 600)+"\n", 200),
		"readable.js": strings.Repeat("var x = 1;\n", 10_000), "latin.txt": "caf\xe9\n",
		"huge.txt": strings.Repeat("x\n", 600_000), ".env": "KEY=1", ".env.example": "KEY=\n", "key.pem": "k",
		"nested/.git/HEAD": "ref: refs/heads/main\n", "nested/a.go": "package a\n",
		"sub/.git": "gitdir: ../.git/modules/sub\n", "sub/deep/b.go": "package b\n",
	} {
		w.write(name, text)
	}
	w.scan()
	w.sameAsNaive()
	for path, want := range map[string]store.LeftOut{
		"ignored.log": store.LeftOutIgnored, "build": store.LeftOutIgnored, "binary.dat": store.LeftOutBinary, "wide.txt": store.LeftOutBinary,
		"late.txt": "", "app.min.js": store.LeftOutMinified, "one-line.txt": store.LeftOutMinified, "lines.js": store.LeftOutMinified,
		"readable.js": "", "latin.txt": "", "huge.txt": store.LeftOutTooLarge, ".env": store.LeftOutSecret, ".env.example": "",
		"key.pem": store.LeftOutSecret, "nested": store.LeftOutNested, "sub": store.LeftOutNested,
	} {
		if got := w.leftOut(path); got != want {
			t.Errorf("%s is left out as %q, want %q", path, got, want)
		}
		x, err := w.scanner.Explain(path)
		if err != nil || x.LeftOut != want {
			t.Errorf("%s is explained as %q (%v), want %q", path, x.LeftOut, err, want)
		}
	}
	if _, ok := w.index.Lookup("nested/a.go"); ok {
		t.Error("a nested repository was entered")
	}
	if r := w.scan(); r.Summary.Read != 0 {
		t.Errorf("%d left-out files were read again", r.Summary.Read)
	}
	w.reload()
	if r := w.scan(); r.Summary.Read != 0 || len(r.Stats) != 0 {
		t.Errorf("%d left-out files were read again after loading, %d entries differ", r.Summary.Read, len(r.Stats))
	}
	w.remove("nested/.git")
	w.write("binary.dat", "text\n")
	w.want(w.scan(), "binary.dat", "nested/a.go")
}

func TestChangedRulesTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write("a/b/x.gen", "x\n")
	w.write("a/b/y.go", "package y\n")
	w.write(".git/info/exclude", "")
	w.scan()
	steps := []struct {
		file, text string
		want       []string
	}{
		{".gitignore", "*.gen\n", []string{".gitignore", "-a/b/x.gen"}},
		{"a/.gitignore", "!x.gen\n", []string{"a/.gitignore", "a/b/x.gen"}},
		{"a/b/.freshetignore", "x.gen\n", []string{"a/b/.freshetignore", "-a/b/x.gen"}},
		{".gitignore", "*.gen\nb/\n", []string{".gitignore", "-a/b/.freshetignore", "-a/b/y.go"}},
		{".gitignore", "", []string{".gitignore", "a/b/.freshetignore", "a/b/y.go"}},
		{".git/info/exclude", "*.go\n", []string{"-a/b/y.go"}},
		{"a/b/.freshetignore", "!*.go\n", []string{"a/b/.freshetignore", "a/b/x.gen", "a/b/y.go"}},
		{".gitignore", "\n.gitignore\n", []string{"-.gitignore", "-a/.gitignore"}},
		{".gitignore", ".gitignore\n*.gen\n", nil},
		{"a/.gitignore", "", []string{"-a/b/x.gen"}},
		{".git/info/exclude", "", nil},
	}
	for i, step := range steps {
		w.write(step.file, step.text)
		r := w.scan()
		if diff := cmp.Diff(step.want, changed(r)); diff != "" {
			t.Fatalf("step %d, %s: %s", i, step.file, diff)
		}
		w.sameAsNaive()
		if i%2 == 1 {
			w.reload()
			if r := w.scan(); len(r.Stats)+len(r.Changed) != 0 {
				t.Fatalf("step %d: loading changed %v %v", i, keys(r), changed(r))
			}
		}
	}
	w.must(os.Remove(w.path(".gitignore")))
	w.want(w.scan(), "a/.gitignore", "a/b/x.gen")
}

func TestTouchedRulesListNothing(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	w.write(".gitignore", "*.log\n")
	w.write("a/b/c.go", "package c\n")
	w.scan()
	w.write(".gitignore", "*.log\n")
	if r := w.scan(); r.Summary.Listed != 0 || len(r.Stats) != 1 {
		t.Fatalf("%d directories listed, %d entries differ; want 0 and 1", r.Summary.Listed, len(r.Stats))
	}
}
