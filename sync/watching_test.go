package merklesync_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	merklesync "github.com/freshet/freshet/sync"
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

func TestChecksLeaveTheTreeAsItIs(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), watching(t))
	r.write("a/x.go", "package x\n")
	before := r.stats()
	r.live()
	for range 20 {
		r.check()
	}
	if diff := cmp.Diff(before, r.stats()); diff != "" {
		t.Fatalf("watching changed the tree:\n%s", diff)
	}
}

// stats lists the times of everything in the tree.
func (r *rig) stats() map[string]time.Time {
	r.t.Helper()
	times := map[string]time.Time{}
	r.must(filepath.WalkDir(r.root, func(path string, d os.DirEntry, err error) error {
		r.must(err)
		info, err := d.Info()
		r.must(err)
		times[path] = info.ModTime()
		return nil
	}))
	return times
}

func TestF5NewDirectoryFilledAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, memory(t), watching(t))
	r.live()
	for round := range 60 {
		var filling sync.WaitGroup
		filling.Go(func() {
			for file := range 20 {
				r.write(fmt.Sprintf("r%d/a/b/c/f%d.go", round, file), fmt.Sprintf("package c // %d %d\n", round, file))
			}
		})
		for range 3 {
			r.check() // meets the directory half filled
		}
		filling.Wait()
		if seen := r.same("a directory filled at once"); seen.Summary.Files != 20*(round+1) {
			t.Fatalf("round %d: %d files", round, seen.Summary.Files)
		}
	}
	if status := r.sync.Watch(); status.State != merklesync.WatchLive || status.Missed > 0 {
		t.Fatalf("the watcher is %+v", status)
	}
}

func TestTreesMoveInAndOut(t *testing.T) {
	t.Parallel()
	away := t.TempDir()
	r := newRig(t, t.TempDir(), watching(t))
	r.write("a/b/c/x.go", "package x\n")
	r.write("other/y.go", "package y\n")
	r.live()
	steps := []struct {
		name    string
		edit    func() error
		watches int
	}{
		{"out", func() error { return os.Rename(r.path("a/b"), filepath.Join(away, "b")) }, 3},
		{"a write outside", func() error { return os.WriteFile(filepath.Join(away, "b/c/x.go"), []byte("package z\n"), 0o600) }, 3},
		{"in under another name", func() error { return os.Rename(filepath.Join(away, "b"), r.path("other/b")) }, 5},
		{"a write inside", func() error { return os.WriteFile(r.path("other/b/c/x.go"), []byte("package w\n"), 0o600) }, 5},
		{"two change places", func() error {
			for _, move := range [][2]string{{"a", "t"}, {"other", "a"}, {"t", "other"}} {
				if err := os.Rename(r.path(move[0]), r.path(move[1])); err != nil {
					return err
				}
			}
			return nil
		}, 5},
		{"a write after that", func() error { return os.WriteFile(r.path("a/b/c/x.go"), []byte("package v\n"), 0o600) }, 5},
		{"removed and made again", func() error {
			if err := os.RemoveAll(r.path("a/b")); err != nil {
				return err
			}
			return os.MkdirAll(r.path("a/b/c"), 0o750)
		}, 5},
		{"a write in what was made again", func() error { return os.WriteFile(r.path("a/b/c/x.go"), []byte("package u\n"), 0o600) }, 5},
		{"a link in the place of a directory", func() error {
			if err := os.Rename(r.path("a/b"), filepath.Join(away, "b")); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(away, "b"), r.path("a/b"))
		}, 3},
		{"a write behind the link", func() error { return os.WriteFile(filepath.Join(away, "b/c/x.go"), []byte("package s\n"), 0o600) }, 3},
	}
	for _, step := range steps {
		r.must(step.edit())
		r.same(step.name)
		if status := r.sync.Watch(); status.State != merklesync.WatchLive || status.Watches != step.watches {
			t.Errorf("%s: the watcher is %+v, want %d watches", step.name, status, step.watches)
		}
	}
}

func TestIgnoredDirectoriesAreNotWatched(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), watching(t))
	r.write(".gitignore", "build/\n")
	r.write("build/deep/er/x.go", "package x\n")
	r.write("src/out/y.go", "package y\n")
	r.write("nested/in/z.go", "package z\n")
	r.live()
	for _, step := range []struct {
		name    string
		edit    func()
		watches int
	}{
		{"at first", func() {}, 5},
		{"written to what is ignored", func() { r.write("build/deep/new/x.go", "package n\n") }, 5},
		{"a rule above", func() { r.write(".gitignore", "build/\nout\n") }, 4},
		{"a rule taken back", func() { r.write(".gitignore", "") }, 9},
		{"a rule beside", func() { r.write("src/.freshetignore", "out/\n") }, 8},
		{"another repository", func() { r.write("nested/.git/HEAD", "ref: refs/heads/main\n") }, 7},
		{"no repository any more", func() { r.must(os.RemoveAll(r.path("nested/.git"))) }, 8},
		{"the exclude file", func() { r.write(".git/info/exclude", "build\n") }, 4},
		{"the exclude file again", func() { r.write(".git/info/exclude", "\n") }, 8},
	} {
		step.edit()
		r.same(step.name)
		if status := r.sync.Watch(); status.State != merklesync.WatchLive || status.Watches != step.watches {
			t.Errorf("%s: the watcher is %+v, want %d watches", step.name, status, step.watches)
		}
	}
}

func TestHardLinksAreLookedAtEachTime(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside.go")
	r := newRig(t, t.TempDir(), watching(t))
	r.write("a/x.go", "package x\n")
	r.must(os.Link(r.path("a/x.go"), r.path("y.go")))
	r.must(os.WriteFile(outside, []byte("package o\n"), 0o600))
	r.must(os.Link(outside, r.path("a/o.go")))
	r.live()
	for i := range 5 {
		r.must(os.WriteFile(r.path("y.go"), fmt.Appendf(nil, "package x // %d\n", i), 0o600))
		r.same("a write through a second name in the tree")
		r.must(os.WriteFile(outside, fmt.Appendf(nil, "package o // %d\n", i), 0o600))
		r.same("a write through a name outside")
	}
	r.must(os.Remove(outside))
	r.must(os.Remove(r.path("y.go")))
	r.same("one name left")
	for i := range 3 {
		r.must(os.Link(r.path("a/x.go"), r.path("z.go")))
		r.must(os.WriteFile(r.path("z.go"), fmt.Appendf(nil, "package z // %d\n", i), 0o600))
		r.same("a name made in the tree and written by at once")
		r.must(os.WriteFile(r.path("z.go"), fmt.Appendf(nil, "package w // %d\n", i), 0o600))
		r.same("a write by that name")
		r.must(os.Remove(r.path("z.go")))
		r.same("the name removed")
	}
	if seen := r.check(); seen.Summary.Stated > 0 {
		t.Fatalf("a file with one name is still looked at: %+v", seen.Summary)
	}
}

// TestCheckAsksForTheStatOfFilesWithSeveralLinksAndNoOthers has the links outside of the tree,
// where the watcher hears of no write.
func TestCheckAsksForTheStatOfFilesWithSeveralLinksAndNoOthers(t *testing.T) {
	t.Parallel()
	const linked, single = 7, 40
	outside := t.TempDir()
	asked := watching(t)
	asked.Quiet, asked.Longest = time.Hour, time.Hour // nothing is looked at but by the checks of the test
	r := newRig(t, t.TempDir(), asked)
	for i := range single {
		r.write(fmt.Sprintf("single/d%d/f%d.go", i%4, i), "package f\n")
	}
	others := make([]string, linked)
	for i := range others {
		name := fmt.Sprintf("linked/d%d/f%d.go", i%3, i)
		others[i] = filepath.Join(outside, fmt.Sprint(i))
		r.write(name, "package f\n")
		r.must(os.Link(r.path(name), others[i]))
	}
	r.live()
	r.same("at first")
	bound := func(what string, stats, found int) {
		t.Helper()
		if seen := r.same(what).Summary; seen.Stated != stats || seen.Listed != 0 || seen.Linked != found {
			t.Fatalf("%s: want %d stats, %d files with several links, no directory listed: %+v", what, stats, found, seen)
		}
	}
	for range 3 {
		bound("unchanged", linked, linked)
	}
	for i, name := range others {
		r.must(os.WriteFile(name, fmt.Appendf(nil, "package written // %d\n", i), 0o600))
	}
	bound("all written through their links outside", linked, linked)
	r.write("single/d0/f0.go", "package changed\n")
	bound("a file with one link written", linked+1, linked)
	for i, name := range others {
		r.must(os.Remove(name))
		bound("a link removed outside", linked-i, linked-i-1) // it is seen that the file has one link now
	}
	bound("no links left", 0, 0)
}

func TestModesAndTimes(t *testing.T) {
	t.Parallel()
	r := newRig(t, t.TempDir(), watching(t))
	r.write("a/x.go", "package x\n")
	r.live()
	r.same("at first")
	for _, mode := range []os.FileMode{0o600, 0o400, 0o755} {
		r.must(os.Chmod(r.path("a/x.go"), mode))
		r.same("mode of a file " + mode.String())
		r.must(os.Chmod(r.path("a"), mode|0o500))
		r.same("mode of a directory " + mode.String())
	}
	old := time.Now().Add(-time.Hour)
	r.write("a/x.go", "package y\n")
	r.must(os.Chtimes(r.path("a/x.go"), old, old))
	r.same("a time put back")
	if status := r.sync.Watch(); status.State != merklesync.WatchLive {
		t.Fatalf("the watcher is %+v", status)
	}
}

func TestRootThatIsReplaced(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	root := filepath.Join(parent, "root")
	r := newRig(t, mkdir(t, root), watching(t))
	r.write("a/x.go", "package x\n")
	r.live()
	r.must(os.RemoveAll(root))
	if _, err := r.sync.Check(t.Context()); err == nil {
		t.Fatal("a root that is gone has a tree")
	}
	r.write("b/y.go", "package y\n")
	r.same("made again")
	r.live()
	r.write("b/z.go", "package z\n")
	r.same("a write in the new one")
	r.must(os.Rename(root, filepath.Join(parent, "moved")))
	if _, err := r.sync.Check(t.Context()); err == nil {
		t.Fatal("a root that was moved has a tree")
	}
	r.must(os.Rename(filepath.Join(parent, "moved"), root))
	r.same("moved back")
	r.live()
	r.must(os.Rename(parent, parent+"-moved"))
	_, err := r.sync.Check(t.Context())
	r.must(os.Rename(parent+"-moved", parent))
	if err == nil {
		t.Fatal("a root below a directory that was moved has a tree")
	}
	r.same("all is back")
}

func mkdir(t testing.TB, path string) string {
	t.Helper()
	if err := os.Mkdir(path, 0o750); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWithoutAWatcherEveryCheckIsAStatProof(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	limited := watching(t)
	limited.MaxWatches = 2
	for _, test := range []struct {
		name     string
		watching merklesync.Watching
		state    merklesync.WatchState
		reason   string
	}{
		{"not wanted", merklesync.Watching{}, merklesync.WatchOff, ""},
		{"too many directories", limited, merklesync.WatchDegraded, "limit"},
		{"cookies in the tree", merklesync.Watching{Dir: root}, merklesync.WatchOff, "inside the tree"},
		{"nowhere for cookies", merklesync.Watching{Dir: filepath.Join(t.TempDir(), "none")}, merklesync.WatchDegraded, "cookies"},
	} {
		r := newRig(t, root, test.watching)
		r.write("a/b/x.go", test.name)
		r.same(test.name)
		r.write("a/b/x.go", test.name+" again")
		if seen := r.same(test.name); seen.Summary.Stated == 0 {
			t.Errorf("%s: no stat was asked for: %+v", test.name, seen.Summary)
		}
		if status := r.sync.Watch(); status.State != test.state || !strings.Contains(status.Reason, test.reason) {
			t.Errorf("%s: the watcher is %+v", test.name, status)
		}
	}
}

func TestBrokenWatcherIsReplaced(t *testing.T) {
	t.Parallel()
	w := watching(t)
	w.Retry, w.Poll = time.Hour, time.Hour
	r := newRig(t, t.TempDir(), w)
	r.write("a/x.go", "package x\n")
	r.live()
	cookies, err := filepath.Glob(filepath.Join(w.Dir, "watch-*"))
	r.must(err)
	r.must(os.RemoveAll(cookies[0]))
	for i := range 3 {
		r.write("a/x.go", fmt.Sprintf("package x // %d\n", i))
		if seen := r.same("a broken watcher"); seen.Summary.Stated == 0 {
			t.Fatalf("a broken watcher vouched for the tree: %+v", seen.Summary)
		}
	}
	if status := r.sync.Watch(); status.State != merklesync.WatchDegraded || status.Reason == "" {
		t.Fatalf("the watcher is %+v", status)
	}
	w.Retry = time.Millisecond
	again := newRig(t, r.root, w)
	again.live()
	cookies, err = filepath.Glob(filepath.Join(w.Dir, "watch-*"))
	again.must(err)
	again.must(os.RemoveAll(cookies[0]))
	again.write("a/x.go", "package y\n")
	again.same("broken once more")
	again.live()
	again.write("a/x.go", "package z\n")
	again.same("after it was replaced")
}
