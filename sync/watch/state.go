package watch

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fail breaks the watcher, once. The caller holds mu.
func (w *Watcher) fail(err error) {
	if w.broken == nil {
		w.broken = err
		w.signal()
	}
}

func (w *Watcher) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// Err returns why the watcher is broken, or nil.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// heard handles an event of the directory.
func (c *cookies) heard(mask uint32, name []byte) error {
	switch {
	case mask&unix.IN_MOVED_TO == 0:
		return fmt.Errorf("%w: the directory for cookies is gone", ErrLost)
	case string(name) == c.name:
		c.awaited = false
	}
	return nil
}
