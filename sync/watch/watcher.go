package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// The errors for which Open fails or a watcher breaks. A broken watcher proves nothing and
// must be replaced.
var (
	// ErrUnproven is returned for a file system that does not report every change.
	ErrUnproven = errors.New("the file system does not tell of every change")
	// ErrLimit is returned when the kernel, or Options, allows no more watches or instances.
	ErrLimit = errors.New("watch limit reached")
	// ErrOverflow is returned when the event queue overflowed and events were lost.
	ErrOverflow = errors.New("the event queue overflowed")
	// ErrRoot is returned when the root was moved, deleted or unmounted.
	ErrRoot = errors.New("the watched root is gone")
	// ErrLost is returned for an unexpected failure of inotify.
	ErrLost = errors.New("the watch was lost")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the watcher is closed")
)

// Options of a Watcher. Dir is required.
type Options struct {
	// Dir is a directory in which the watcher creates its cookie directory. It must exist and
	// lie outside every watched tree.
	Dir string
	// MaxWatches bounds the watched directories; 0 means the kernel's limit.
	MaxWatches int
}

// Watcher watches the directories that scans enter. Its methods may be called from several
// goroutines, and after Close.
type Watcher struct {
	changed chan struct{} // capacity 1
	file    *os.File      // the inotify instance
	device  uint64        // of the root
	mounts  int           // the mount table, to be told of changes, or -1
	max     int
	cookies cookies

	mu     sync.Mutex // guards what follows, and every read of the instance
	fd     int
	broken error
	closed bool
	table  table
	dirty  scan.Dirty
	links  links
	buf    []byte
}

var _ scan.Follower = (*Watcher)(nil)

// Open returns a watcher of the directory root. It watches nothing until a scan of the whole
// tree has run with it as its Follower.
func Open(root string, opts Options) (*Watcher, error) {
	var st unix.Stat_t
	if err := unix.Lstat(root, &st); err != nil {
		return nil, fmt.Errorf("%w: stat %s: %w", ErrRoot, merkle.QuotePath(root), err)
	}
	if err := proven(root); err != nil {
		return nil, err
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return nil, fmt.Errorf("%w: no more inotify instances (fs.inotify.max_user_instances): %w", ErrLimit, err)
	case err != nil:
		return nil, fmt.Errorf("%w: make an inotify instance: %w", ErrLost, err)
	}
	w := &Watcher{
		changed: make(chan struct{}, 1), file: os.NewFile(uintptr(fd), "inotify"), fd: fd,
		device: st.Dev, mounts: openMounts(), max: opts.MaxWatches,
		table: newTable(), links: newLinks(), buf: make([]byte, 64<<10),
	}
	if err := w.cookies.open(fd, opts.Dir); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Run reads events as they come until ctx ends or the watcher breaks or is closed. It keeps
// the kernel's queue short and signals Changed; Prove works without it.
func (w *Watcher) Run(ctx context.Context) error {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return nil //nolint:nilerr // it was closed
	}
	stop := context.AfterFunc(ctx, func() { _ = w.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = conn.Read(func(uintptr) bool {
		for {
			if more, err := w.readLocked(); err != nil || !more {
				return err != nil
			}
		}
	})
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, fs.ErrClosed):
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail(fmt.Errorf("%w: wait for events: %w", ErrLost, err))
	return nil
}

// readLocked reads one batch and reports whether there may be more.
func (w *Watcher) readLocked() (more bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.read()
	return n > 0, err
}

// Changed returns a channel that receives when events were read, or the watcher broke, since
// the last receive. It is signalled only while Run runs.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// Watches returns the number of watched directories.
func (w *Watcher) Watches() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.table.len()
}

// Close removes the watches. It may be called twice.
func (w *Watcher) Close() error {
	w.mu.Lock()
	closed := w.closed
	w.closed = true
	w.fail(ErrClosed)
	w.mu.Unlock()
	if closed {
		return nil
	}
	if w.mounts >= 0 {
		_ = unix.Close(w.mounts)
	}
	return errors.Join(w.file.Close(), w.cookies.close()) // waits for Run to see that it ends
}
