package scan

import (
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// TestScanEqualsAFullRebuild edits a real tree at random and compares what scans arrive at
// with the slow twin, which knows nothing of indexes, after each round.
func TestScanEqualsAFullRebuild(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := newTree(t, Options{Workers: rapid.IntRange(1, 4).Draw(r, "workers"), AcceptEmpty: true})
		for range rapid.IntRange(1, 10).Draw(r, "rounds") {
			for range rapid.IntRange(0, 5).Draw(r, "edits") {
				w.editAtRandom(r)
			}
			if rapid.IntRange(0, 3).Draw(r, "reload") == 0 {
				w.reload()
			}
			w.scan()
			w.sameAsNaive()
		}
		again, err := New(w.root, Options{}).Scan(t.Context(), nil, nil)
		w.must(err)
		rebuilt, err := again.Index.Tree()
		w.must(err)
		if rebuilt.Root() != w.merkle.Root() {
			r.Fatalf("root %v, rebuilt %v", w.merkle.Root(), rebuilt.Root())
		}
		w.remove("")
	})
}

// editAtRandom makes one edit; what cannot be done is not done.
func (w *tree) editAtRandom(r *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "a.go", "x.log", "dir", "\xff"})
	path := name.Draw(r, "name")
	for range rapid.IntRange(0, 3).Draw(r, "depth") {
		path = join(rapid.SampledFrom([]string{"a", "b", "dir"}).Draw(r, "dir"), path)
	}
	switch op := rapid.IntRange(0, 9).Draw(r, "op"); op {
	case 0, 1, 2:
		w.putAnyway(path, fmt.Sprintf("text %d\n", rapid.IntRange(0, 3).Draw(r, "text")))
	case 3:
		w.remove(path)
	case 4:
		_ = os.Rename(w.path(path), w.path(name.Draw(r, "to")))
	case 5:
		dir := rapid.SampledFrom([]string{"", "a", "a/b", "dir"}).Draw(r, "of")
		file := rapid.SampledFrom(ruleFiles[:]).Draw(r, "file")
		rule := rapid.SampledFrom([]string{"", "*.log", "a/", "/b", "!x.log", "dir/a", "**/a.go", "*", "!*.go", ".gitignore"})
		w.putAnyway(join(dir, file), rule.Draw(r, "rule")+"\n"+rule.Draw(r, "rule")+"\n")
	case 6:
		w.putAnyway(".git/info/exclude", rapid.SampledFrom([]string{"", "b", "*.go"}).Draw(r, "exclude")+"\n")
	case 7:
		w.putAnyway(path, "bin\x00ary")
	case 8:
		_ = os.Symlink("a", w.path(path))
	case 9:
		if rapid.Bool().Draw(r, "nest") {
			w.putAnyway("dir/.git", "gitdir: elsewhere\n")
		} else {
			w.remove("dir/.git")
		}
	}
}

// putAnyway writes a file and makes room for it.
func (w *tree) putAnyway(path, text string) {
	for i := range path {
		if path[i] == '/' {
			if info, err := os.Lstat(w.path(path[:i])); err == nil && !info.IsDir() {
				w.remove(path[:i])
			}
		}
	}
	if info, err := os.Lstat(w.path(path)); err == nil && !info.Mode().IsRegular() {
		w.remove(path)
	}
	w.write(path, text)
}

var _ Sink = (*tree)(nil)
