package natsbus

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

// roomCheck is how long a publish waits for its acknowledgement before it looks whether
// the disk is full: the server does not answer then. A slow disk with room is waited for.
const roomCheck = 2 * time.Second

// leastRoom is what must be free on the disk of the log: less is a full one.
const leastRoom = bus.MaxMessage

// watchRoom returns a context that ends with store.ErrDiskFull as its cause when the disk
// of the log is full after roomCheck, and a function that ends the watch.
func (b *Bus) watchRoom(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(roomCheck, func() {
		if b.full() {
			cancel(store.ErrDiskFull)
		}
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// full reports whether the disk of an embedded log has no room for another message.
func (b *Bus) full() bool {
	if b.opts.Dir == "" {
		return false
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(b.opts.Dir, &disk); err != nil {
		return false
	}
	noBlocks := disk.Bavail*uint64(disk.Bsize) < leastRoom
	noFiles := disk.Files > 0 && disk.Ffree == 0
	return noBlocks || noFiles
}

// explainFull gives an error the meaning of a full disk when that is what stands behind
// it: the server says so in its log only, or not at all.
func (b *Bus) explainFull(err error) error {
	switch {
	case err == nil, errors.Is(err, bus.ErrGuard), errors.Is(err, bus.ErrFull), errors.Is(err, store.ErrDiskFull), !b.full():
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
}
