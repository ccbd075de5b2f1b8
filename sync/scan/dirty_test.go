package scan

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/store"
)

// lstats is the disk as the slow twin of a watcher sees it, ignored paths included.
func (w *tree) lstats() map[string]store.Stat {
	w.t.Helper()
	stats := map[string]store.Stat{}
	w.must(filepath.WalkDir(w.root, func(full string, _ fs.DirEntry, err error) error {
		w.must(err)
		stat, err := statAt(unix.AT_FDCWD, full)
		stats[strings.TrimPrefix(strings.TrimPrefix(full, w.root), "/")] = stat
		return err
	}))
	return stats
}

// heard is what a perfect watcher has heard between two looks at the disk.
func heard(before, after map[string]store.Stat) *Dirty {
	d := &Dirty{}
	for path, was := range before {
		now, ok := after[path]
		switch {
		case !ok, was.Inode != now.Inode, kind(was.Mode) != kind(now.Mode):
			d.Name(path)
		case was != now:
			d.Touch(path)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			d.Name(path)
		}
	}
	return d
}

// scanPart is scan of what was heard since the disk had the stats of before.
func (w *tree) scanPart(before map[string]store.Stat) Result {
	w.t.Helper()
	w.part = Part{Dirty: heard(before, w.lstats())}
	defer func() { w.part = Part{} }()
	return w.scan()
}

// TestScanPartEqualsAFullRebuild edits a real tree at random, and scans only what a perfect
// watcher heard of, or now and then the whole.
func TestScanPartEqualsAFullRebuild(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := newTree(t, Options{Workers: rapid.IntRange(1, 3).Draw(r, "workers"), AcceptEmpty: true})
		w.scan()
		for range rapid.IntRange(1, 12).Draw(r, "rounds") {
			before := w.lstats()
			for range rapid.IntRange(0, 4).Draw(r, "edits") {
				w.editAtRandom(r)
			}
			if rapid.IntRange(0, 5).Draw(r, "whole") == 0 {
				w.scan()
			} else {
				w.scanPart(before)
			}
			w.sameAsNaive()
		}
		part := w.index
		whole := w.scan()
		if len(whole.Changed) > 0 {
			r.Fatalf("a scan of the whole finds %q, the index before has %d entries", changed(whole), part.root.total.files)
		}
		w.remove("")
	})
}

func TestScanPartLooksAtNoMore(t *testing.T) {
	t.Parallel()
	w := newTree(t, settled())
	for dir := range 20 {
		for file := range 20 {
			w.write(fmt.Sprintf("d%d/sub/f%d.go", dir, file), "package d\n")
		}
	}
	w.scan()
	for _, test := range []struct {
		name                 string
		edit                 func()
		stated, listed, read int
		changed              []string
	}{
		{name: "nothing", edit: func() {}},
		{name: "a write", edit: func() { w.write("d3/sub/f4.go", "package e\n") }, stated: 1, read: 1, changed: []string{"d3/sub/f4.go"}},
		{name: "a mode", edit: func() { w.must(os.Chmod(w.path("d3/sub/f4.go"), 0o600)) }, stated: 1, read: 1},
		{name: "a new file", edit: func() { w.write("d3/sub/new.go", "package n\n") }, stated: 1, listed: 1, read: 1, changed: []string{"d3/sub/new.go"}},
		{name: "a removal", edit: func() { w.remove("d3/sub/new.go") }, listed: 1, changed: []string{"-d3/sub/new.go"}},
		{
			name: "a new directory", edit: func() { w.write("d3/one/two/a.go", "package a\n") },
			stated: 1, listed: 3, read: 1, changed: []string{"d3/one/two/a.go"},
		},
		{name: "a directory that goes", edit: func() { w.remove("d3/one") }, listed: 1, changed: []string{"-d3/one/two/a.go"}},
	} {
		before := w.lstats()
		test.edit()
		r := w.scanPart(before)
		w.sameAsNaive()
		got := r.Summary
		if got.Stated != test.stated || got.Listed != test.listed || got.Read != test.read {
			t.Errorf("%s: stated %d, listed %d, read %d", test.name, got.Stated, got.Listed, got.Read)
		}
		w.want(r, test.changed...)
	}
}

// entered is a follower that keeps what it is told.
type entered struct{ directories, linked []string }

func (e *entered) Enter(path string, _ int) { e.directories = append(e.directories, path) }
func (e *entered) Linked(path string)       { e.linked = append(e.linked, path) }

func TestFollowerIsToldOfWhatIsEntered(t *testing.T) {
	t.Parallel()
	w := newTree(t, Options{Workers: 1})
	w.write(".gitignore", "build/\n")
	w.write("a/b/x.go", "package x\n")
	w.write("build/x.go", "package x\n")
	w.write("nested/.git/HEAD", "ref: refs/heads/main\n")
	w.write("nested/in/x.go", "package x\n")
	w.must(os.Link(w.path("a/b/x.go"), w.path("a/y.go")))
	follower := &entered{}
	w.part = Part{Follower: follower}
	w.scan()
	want := &entered{directories: []string{"", "nested", "a", "a/b"}, linked: []string{"a/y.go", "a/b/x.go"}}
	if fmt.Sprint(follower) != fmt.Sprint(want) {
		t.Fatalf("told of %q, want %q", follower, want)
	}
}

func TestDirtySet(t *testing.T) {
	t.Parallel()
	var d Dirty
	if !d.Empty() || d.Covers("") {
		t.Fatal("the zero set is not empty")
	}
	d.Touch("a/b")
	d.Name("c/d")
	for path, want := range map[string]bool{
		"": false, "a": false, "a/b": true, "a/b/c": false, "c": true, "c/d": true, "c/d/e": true, "c/e": false,
	} {
		if d.Covers(path) != want {
			t.Errorf("covers %q: %v", path, !want)
		}
	}
	for i := range maxMarks + 1 {
		d.Touch(fmt.Sprintf("x/%d", i))
	}
	if !d.Whole() || !d.Covers("z") || d.Empty() {
		t.Fatal("a set with too many paths is not the whole tree")
	}
}
