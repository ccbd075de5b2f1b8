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

// diskCheckDelay is how long a publish waits for its acknowledgement before it checks
// whether the disk is full, in which case the server never answers. A slow disk with free
// space is waited for.
const diskCheckDelay = 2 * time.Second

// minFreeSpace is the free space in bytes below which the disk of the log counts as full.
const minFreeSpace = bus.MaxMessage

// watchDiskSpace returns a context that is canceled with the cause store.ErrDiskFull when
// the disk of the log is full after diskCheckDelay. The caller must call the returned
// function to release it.
func (b *Bus) watchDiskSpace(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(diskCheckDelay, func() {
		if b.diskFull() {
			cancel(store.ErrDiskFull)
		}
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// diskFull reports whether the disk of an embedded log has no space for another message.
func (b *Bus) diskFull() bool {
	if b.opts.Dir == "" {
		return false
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(b.opts.Dir, &disk); err != nil {
		return false
	}
	noBlocks := disk.Bavail*uint64(disk.Bsize) < minFreeSpace
	noFiles := disk.Files > 0 && disk.Ffree == 0
	return noBlocks || noFiles
}

// asDiskFull wraps an error with store.ErrDiskFull when the disk is full: the server reports
// that in its log only, or not at all.
func (b *Bus) asDiskFull(err error) error {
	switch {
	case err == nil, errors.Is(err, bus.ErrGuard), errors.Is(err, bus.ErrFull), errors.Is(err, store.ErrDiskFull), !b.diskFull():
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
}
