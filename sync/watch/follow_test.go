package watch

import (
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/sync/scan"
)

func TestDirectoriesThatGoAreNotWatched(t *testing.T) {
	t.Parallel()
	r := open(t, t.TempDir(), Options{})
	r.write("a/b/c/x.go", "package x\n")
	r.catchUp()
	if n := r.watcher.Watches(); n != 4 {
		t.Fatalf("%d watches, want 4", n)
	}
	r.must(os.RemoveAll(r.path("a")))
	_, err := r.watcher.Prove() // before any scan: what comes in their place may have their inodes
	r.must(err)
	if n := r.watcher.Watches(); n != 1 {
		t.Fatalf("%d watches, want that of the root", n)
	}
}

// tableIsTheDisks compares every watch with the directory that has its path now.
func (r *rig) tableIsTheDisks() {
	r.t.Helper()
	for watch, d := range r.watcher.table.directories {
		var st unix.Stat_t
		r.must(unix.Lstat(r.path(d.path), &st))
		if st.Ino != d.inode || r.watcher.table.watches[d.path] != watch {
			r.t.Errorf("watch %d is of another directory than %q", watch, d.path)
		}
	}
}

// TestMoveThatAScanMeetsFirst has a scan enter moved directories under their new paths
// before the events of the move are read.
func TestMoveThatAScanMeetsFirst(t *testing.T) {
	t.Parallel()
	r := open(t, t.TempDir(), Options{})
	r.write("a/sub/x.go", "package x\n")
	r.write("b/sub/y.go", "package y\n")
	r.catchUp()
	for _, move := range [][2]string{{"a", "t"}, {"b", "a"}, {"t", "b"}} {
		r.must(os.Rename(r.path(move[0]), r.path(move[1])))
	}
	r.scan(nil)
	r.tableIsTheDisks()
	r.catchUp()
	for _, name := range []string{"a/sub/y.go", "b/sub/x.go"} {
		r.write(name, "package z\n")
		if got := r.catchUp(); !slices.Equal(got, []string{name}) {
			t.Errorf("changed are %q, want %q", got, name)
		}
	}
	if n := r.watcher.Watches(); n != 5 {
		t.Errorf("%d watches, want 5", n)
	}
}

// TestReplacedDirectoryThatAScanMeetsFirst has another directory stand at a path before
// the events are read.
func TestReplacedDirectoryThatAScanMeetsFirst(t *testing.T) {
	t.Parallel()
	r := open(t, t.TempDir(), Options{})
	r.write("a/x.go", "package x\n")
	r.write("new/x.go", "package y\n")
	r.catchUp()
	r.must(os.Rename(r.path("a"), r.path("old")))
	r.must(os.Rename(r.path("new"), r.path("a")))
	r.scan(nil)
	r.tableIsTheDisks()
	r.write("a/x.go", "package z\n")
	r.write("old/x.go", "package z\n")
	if got := r.catchUp(); !slices.Equal(got, []string{"a/x.go", "old/x.go"}) {
		t.Errorf("changed are %q", got)
	}
}

// TestSecondStoreThroughAMap stores twice to a page that is not written back between, so
// that the time of the file does not move; a handle that is closed tells of it.
func TestSecondStoreThroughAMap(t *testing.T) {
	t.Parallel()
	r := open(t, t.TempDir(), Options{})
	r.scanner = scan.New(r.root, scan.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }}) // nothing is racy
	r.write("x.go", "package a\n")
	r.catchUp()
	file, err := os.OpenFile(r.path("x.go"), os.O_RDWR, 0)
	r.must(err)
	defer func() { r.must(file.Close()) }()
	data, err := unix.Mmap(int(file.Fd()), 0, 10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	r.must(err)
	defer func() { r.must(unix.Munmap(data)) }()
	for _, letter := range []byte("bcd") {
		data[8] = letter
		other, err := os.OpenFile(r.path("x.go"), os.O_RDWR, 0)
		r.must(err)
		r.must(other.Close())
		if got := r.catchUp(); !slices.Equal(got, []string{"x.go"}) {
			t.Fatalf("store of %c: changed are %q", letter, got)
		}
	}
}
