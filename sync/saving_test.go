package merklesync_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	merklesync "github.com/freshet/freshet/sync"
)

// save is how an editor replaces the text of a file.
type save struct {
	name string
	do   func(path, text string) error
}

func saves() []save {
	put := func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	return []save{
		{"truncate and write", put},
		{"write and rename", func(path, text string) error {
			return errors.Join(put(path+".tmp", text), os.Rename(path+".tmp", path))
		}},
		{"backup by rename", func(path, text string) error { // vim, backupcopy=no
			return errors.Join(os.Rename(path, path+"~"), put(path, text), os.Remove(path+"~"))
		}},
		{"backup by link", func(path, text string) error { // emacs, backup-by-copying-when-linked
			return errors.Join(os.Link(path, path+"~"), put(path+".new", text), os.Rename(path+".new", path), os.Remove(path+"~"))
		}},
		{"lock by link", func(path, text string) error { // emacs
			lock := path + ".#"
			return errors.Join(os.Symlink("me@host.1:1", lock), put(path, text), os.Remove(lock))
		}},
		{"swap file", func(path, text string) error { // vim
			return errors.Join(put(path+".swp", text), put(path, text), os.Remove(path+".swp"))
		}},
		{"nameless and linked", saveNameless},
		{"exchange", func(path, text string) error {
			return errors.Join(put(path+".new", text),
				unix.Renameat2(unix.AT_FDCWD, path+".new", unix.AT_FDCWD, path, unix.RENAME_EXCHANGE), os.Remove(path+".new"))
		}},
		{"memory map", saveMapped},
		{"removed and made again", func(path, text string) error { return errors.Join(os.Remove(path), put(path, text)) }},
	}
}

// saveNameless writes a file that has no name, and links it beside and over the old one.
func saveNameless(path, text string) error {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), path)
	_, err = file.WriteString(text)
	return errors.Join(err,
		unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, path+".new", unix.AT_SYMLINK_FOLLOW),
		os.Rename(path+".new", path), file.Close())
}

// saveMapped stores through a shared memory map, of which nothing is heard until it is
// closed.
func saveMapped(path, text string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := file.Truncate(int64(len(text))); err != nil {
		return errors.Join(err, file.Close())
	}
	data, err := unix.Mmap(int(file.Fd()), 0, len(text), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	copy(data, text)
	return errors.Join(unix.Munmap(data), file.Close())
}

func TestF2EditorsSave(t *testing.T) {
	t.Parallel()
	for _, save := range saves() {
		t.Run(save.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, t.TempDir(), watching(t))
			r.write("src/x.go", "package x\n")
			r.live()
			for round := range 40 {
				r.must(save.do(r.path("src/x.go"), fmt.Sprintf("package x // %d\n", round%7)))
				if seen := r.same(save.name); seen.Summary.Files != 1 {
					t.Fatalf("%d files after round %d", seen.Summary.Files, round)
				}
			}
			if status := r.sync.Watch(); status.State != merklesync.WatchLive || status.Missed > 0 {
				t.Fatalf("the watcher is %+v", status)
			}
		})
	}
}

// TestChecksEqualAFullScan edits a real tree at random under a live watcher, and compares
// every check with a scan that knows nothing.
func TestChecksEqualAFullScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(p *rapid.T) {
		r := newRig(t, memory(t), watching(t))
		defer r.end() // instances of inotify are few
		r.write("keep.go", "package keep\n")
		r.live()
		for range rapid.IntRange(1, 10).Draw(p, "rounds") {
			for range rapid.IntRange(1, 5).Draw(p, "edits") {
				r.editAtRandom(p)
			}
			if _, difference := r.differs(); difference != "" {
				p.Fatal(difference)
			}
		}
		if status := r.sync.Watch(); status.State != merklesync.WatchLive || status.Missed > 0 {
			p.Fatalf("the watcher is %+v", status)
		}
	})
}

// editAtRandom makes one edit; what cannot be done is not done.
func (r *rig) editAtRandom(p *rapid.T) {
	names := rapid.SampledFrom([]string{"a", "b", "a.go", "b.go", "x.log", "\xff"})
	path := names.Draw(p, "name")
	for range rapid.IntRange(0, 3).Draw(p, "depth") {
		path = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(p, "dir") + "/" + path
	}
	text := fmt.Sprintf("text %d\n", rapid.IntRange(0, 3).Draw(p, "text"))
	switch rapid.IntRange(0, 9).Draw(p, "op") {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(r.path(path)), 0o750)
		_ = os.WriteFile(r.path(path), []byte(text), 0o600)
	case 3:
		_ = os.RemoveAll(r.path(path))
	case 4, 5:
		_ = os.Rename(r.path(path), r.path(names.Draw(p, "to")))
	case 6:
		_ = os.Rename(r.path(names.Draw(p, "from")), r.path(path))
	case 7:
		_ = os.WriteFile(r.path(rapid.SampledFrom([]string{"", "a/", "b/"}).Draw(p, "of")+".gitignore"),
			[]byte(rapid.SampledFrom([]string{"", "*.log\n", "a/\n", "/b\n", "!x.log\n"}).Draw(p, "rule")), 0o600)
	case 8:
		_ = os.Link(r.path(names.Draw(p, "of")), r.path(path))
	case 9:
		_ = os.MkdirAll(r.path(path), 0o750)
	}
}
