package watch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/sync/merkle"
)

// table maps watches to paths and back. A watch follows its inode when a directory is moved;
// the table is updated with the path.
type table struct {
	directories map[int32]directory
	watches     map[string]int32
}

type directory struct {
	path  string
	inode uint64
}

func newTable() table {
	return table{directories: map[int32]directory{}, watches: map[string]int32{}}
}

func (t *table) len() int { return len(t.directories) }

func (t *table) path(watch int32) (string, bool) {
	d, ok := t.directories[watch]
	return d.path, ok
}

// has reports whether the directory with an inode is watched under a path.
func (t *table) has(path string, inode uint64) bool {
	watch, ok := t.watches[path]
	return ok && t.directories[watch].inode == inode
}

// put sets the path of a watch. It returns the path that the watch had before, if it was
// another one, and the watch that the path had.
func (t *table) put(watch int32, path string, inode uint64) (was string, moved bool, old int32, replaced bool) {
	if d, ok := t.directories[watch]; ok && d.path != path {
		was, moved = d.path, true
		if t.watches[was] == watch {
			delete(t.watches, was)
		}
	}
	old, replaced = t.watches[path]
	replaced = replaced && old != watch
	t.directories[watch] = directory{path, inode}
	t.watches[path] = watch
	return was, moved, old, replaced
}

func (t *table) remove(watch int32) {
	if d, ok := t.directories[watch]; ok {
		delete(t.directories, watch)
		if t.watches[d.path] == watch {
			delete(t.watches, d.path)
		}
	}
}

// below lists the watches of a directory and of all below it.
func (t *table) below(path string) []int32 {
	var watches []int32
	for watch, d := range t.directories {
		if d.path == path || strings.HasPrefix(d.path, path) && d.path[len(path)] == '/' {
			watches = append(watches, watch)
		}
	}
	return watches
}

// Enter adds the watch of a directory that a scan has opened and not yet listed. It watches
// the open directory, not the one that has the path meanwhile.
func (w *Watcher) Enter(path string, fd int) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.broken != nil:
		return
	case err != nil:
		w.fail(fmt.Errorf("%w: stat %s: %w", ErrLost, merkle.QuotePath(path), err))
		return
	case st.Dev != w.device:
		w.fail(fmt.Errorf("%w: %s is on another one than the root", ErrUnproven, merkle.QuotePath(path)))
		return
	case w.table.has(path, st.Ino):
		return
	case w.max > 0 && w.table.len() >= w.max:
		w.fail(fmt.Errorf("%w: %d directories", ErrLimit, w.max))
		return
	}
	wd, err := addWatch(w.fd, "/proc/self/fd/"+strconv.Itoa(fd), followed)
	if err != nil {
		w.fail(fmt.Errorf("watch %s: %w", merkle.QuotePath(path), err))
		return
	}
	was, moved, old, replaced := w.table.put(wd, path, st.Ino)
	if moved { // or the directory is in the tree twice; then both are scanned
		w.dirty.Name(was)
	}
	if replaced {
		w.release([]int32{old})
	}
}

// Forget removes the watches of directories that are no longer part of the tree.
func (w *Watcher) Forget(paths ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range paths {
		if watch, ok := w.table.watches[path]; ok {
			w.release([]int32{watch})
		}
	}
}

// release removes watches. The caller holds mu.
func (w *Watcher) release(watches []int32) {
	for _, watch := range watches {
		w.table.remove(watch)
		if !w.closed {
			_, _ = unix.InotifyRmWatch(w.fd, uint32(watch)) // gone already if its directory is
		}
	}
}

// addWatch adds a watch to an inotify instance, or changes that of the same directory.
func addWatch(fd int, path string, mask uint32) (int32, error) {
	wd, err := unix.InotifyAddWatch(fd, path, mask)
	switch {
	case err == nil:
		return int32(wd), nil
	case errors.Is(err, unix.ENOSPC):
		return 0, fmt.Errorf("%w (fs.inotify.max_user_watches): %w", ErrLimit, err)
	}
	return 0, fmt.Errorf("%w: add a watch: %w", ErrLost, err)
}
