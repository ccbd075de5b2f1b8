package merklesync_test

import (
	"os"
	"testing"
)

func TestCheckOfAnUnchangedTreeAsksForNoStat(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), watching(t))
	r.write("a/b/x.go", "package x\n")
	r.write("y.go", "package y\n")
	r.live()
	r.same("at first")
	seen := r.check()
	if seen.Summary.Stated+seen.Summary.Listed+seen.Summary.Read > 0 || seen.Summary.Files != 2 {
		t.Fatalf("an unchanged tree was looked at: %+v", seen.Summary)
	}
	r.write("a/b/x.go", "package z\n")
	if seen := r.same("a write"); seen.Summary.Stated != 1 || seen.Summary.Listed != 0 {
		t.Fatalf("more was looked at than the file that was written: %+v", seen.Summary)
	}
	r.write("c/d/e/f.go", "package f\n")
	r.same("a new directory")
	r.must(os.Rename(r.path("c/d"), r.path("a/d")))
	r.same("a move")
	r.write("a/d/e/f.go", "package g\n")
	r.same("a write where the directory is now")
	if n := r.sync.Watch().Watches; n != 6 {
		t.Fatalf("%d directories are watched", n)
	}
}
