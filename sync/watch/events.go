package watch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// content are the events after which a file's bytes may differ. The event of a write
	// through a memory map comes when the last handle on the file is closed.
	content = unix.IN_MODIFY | unix.IN_CLOSE_WRITE
	// naming are the events after which a name may refer to another file.
	naming = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	// self are the events of a directory itself.
	self = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF

	followed = content | naming | self | unix.IN_ATTRIB | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK
)

// read reads one batch of events without blocking, and returns its size. It returns an error
// once the watcher is broken. The caller holds mu.
func (w *Watcher) read() (int, error) {
	if w.broken != nil {
		return 0, w.broken
	}
	n, err := unix.Read(w.fd, w.buf)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return 0, nil
	case errors.Is(err, unix.EINTR):
		return w.read()
	case err != nil:
		w.fail(fmt.Errorf("%w: read events: %w", ErrLost, err))
		return 0, w.broken
	}
	for rest := w.buf[:n]; len(rest) >= unix.SizeofInotifyEvent && w.broken == nil; {
		watch := int32(binary.NativeEndian.Uint32(rest))
		mask := binary.NativeEndian.Uint32(rest[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
		name, _, _ := bytes.Cut(rest[unix.SizeofInotifyEvent:end], []byte{0})
		w.heard(watch, mask, name)
		rest = rest[end:]
	}
	if !w.dirty.Empty() {
		w.signal()
	}
	return n, w.broken
}

// heard handles one event.
func (w *Watcher) heard(watch int32, mask uint32, name []byte) {
	switch {
	case mask&unix.IN_Q_OVERFLOW != 0:
		w.fail(fmt.Errorf("%w (fs.inotify.max_queued_events)", ErrOverflow))
		return
	case watch == w.cookies.watch:
		if err := w.cookies.heard(mask, name); err != nil {
			w.fail(err)
		}
		return
	}
	dir, ok := w.table.path(watch)
	switch {
	case !ok: // the watch was removed
	case mask&unix.IN_UNMOUNT != 0:
		w.fail(fmt.Errorf("%w: it was unmounted", ErrRoot))
	case mask&(self|unix.IN_IGNORED) != 0:
		w.gone(watch, mask, dir)
	case len(name) == 0:
		w.dirty.Look(dir)
	default:
		w.named(dir, mask, string(name))
	}
}

// gone handles an event of a watched directory that was moved or deleted. The events of a
// move inside the tree come after those of its names, which removed its watch.
func (w *Watcher) gone(watch int32, mask uint32, dir string) {
	if dir == "" {
		w.fail(fmt.Errorf("%w: it was moved or deleted", ErrRoot))
		return
	}
	if mask&unix.IN_IGNORED != 0 {
		w.table.remove(watch)
	}
	w.dirty.Name(dir)
}

// named handles an event of an entry of a directory. The .git of the root is not part of the
// tree; one below makes its directory a nested repository.
func (w *Watcher) named(dir string, mask uint32, name string) {
	path := name
	if dir != "" {
		path = dir + "/" + name
	}
	if name == ".git" && (dir == "" || mask&naming == 0) {
		return
	}
	switch {
	case mask&naming != 0:
		w.dirty.Name(path)
		if mask&unix.IN_ISDIR != 0 && mask&unix.IN_MOVED_FROM != 0 {
			w.release(w.table.below(path))
		}
	case mask&content != 0:
		w.dirty.Touch(path)
	default:
		w.dirty.Look(path)
	}
}
