package watch

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/sync/scan"
)

// cookies is a directory that only the watcher writes to, with one file in it. A cookie is a
// rename of that file to a new name, whose event marks a position in the event queue.
type cookies struct {
	dir     string
	handle  *os.File
	watch   int32
	number  uint64
	name    string // of the file now
	awaited bool   // its event has not been read
}

// open creates the directory and adds it to the inotify instance fd.
func (c *cookies) open(fd int, parent string) error {
	var err error
	if c.dir, err = os.MkdirTemp(parent, "watch-"); err != nil {
		return fmt.Errorf("%w: make a directory for cookies: %w", ErrLost, err)
	}
	if c.handle, err = os.Open(c.dir); err != nil {
		return fmt.Errorf("%w: open the directory for cookies: %w", ErrLost, err)
	}
	c.name = c.next()
	file, err := unix.Openat(int(c.handle.Fd()), c.name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("%w: make a cookie: %w", ErrLost, err)
	}
	_ = unix.Close(file)
	wd, err := addWatch(fd, c.dir, unix.IN_MOVED_TO|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF)
	c.watch = wd
	return err
}

func (c *cookies) next() string {
	c.number++
	return strconv.FormatUint(c.number, 36)
}

// lay renames the file: the event of the rename is queued after all earlier ones.
func (c *cookies) lay() error {
	name, dir := c.next(), int(c.handle.Fd())
	if err := unix.Renameat(dir, c.name, dir, name); err != nil {
		return fmt.Errorf("%w: lay a cookie: %w", ErrLost, err)
	}
	c.name, c.awaited = name, true
	return nil
}

func (c *cookies) close() error {
	if c.handle != nil {
		_ = c.handle.Close()
	}
	if c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}

// Prove returns the dirty paths: those that may have changed since the last Prove. Every
// change that was finished before the call is included. The set belongs to the caller, which
// must scan the paths and return with Doubt those that it could not scan. After an error the
// watcher is broken and must be replaced.
func (w *Watcher) Prove() (scan.Dirty, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.catchUp(); err != nil {
		return scan.Dirty{}, err
	}
	if mountsChanged(w.mounts) {
		w.dirty.All()
	}
	w.links.look(&w.dirty)
	dirty := w.dirty
	w.dirty = scan.Dirty{}
	return dirty, nil
}

// Unheard returns those of the paths without an event since the last Prove, by the same
// proof. The next Prove still returns the others.
func (w *Watcher) Unheard(paths []string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.catchUp(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(paths), w.dirty.Covers), nil
}

// catchUp reads all events that were queued before the call. The caller holds mu.
func (w *Watcher) catchUp() error {
	if w.broken == nil {
		if err := w.cookies.lay(); err != nil {
			w.fail(err)
		}
	}
	for w.broken == nil && w.cookies.awaited {
		if n, err := w.read(); err == nil && n == 0 {
			w.fail(fmt.Errorf("%w: a cookie did not come back", ErrLost))
		}
	}
	return w.broken
}

// Doubt adds paths to those that the next Prove returns; no paths means the whole tree.
func (w *Watcher) Doubt(paths ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(paths) == 0 {
		w.dirty.All()
	}
	for _, path := range paths {
		w.dirty.Name(path)
	}
}
