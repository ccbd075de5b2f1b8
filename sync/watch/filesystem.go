package watch

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/sync/merkle"
)

// local reports whether a file system is changed only by this kernel and reports every change
// to inotify. All others are unproven: network file systems and FUSE because other machines
// and processes change them, overlays because their layers may be written directly.
func local(magic int64) bool {
	switch magic & 0xffffffff {
	case unix.EXT4_SUPER_MAGIC, // ext2 and ext3 too
		unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.REISERFS_SUPER_MAGIC,
		unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC,
		zfs, bcachefs, jfs:
		return true
	}
	return false
}

// The magic numbers that are missing in package unix.
const (
	zfs      = 0x2fc12fc1
	bcachefs = 0xca451a4e
	jfs      = 0x3153464a
)

// proven refuses a root whose file system is unproven.
func proven(root string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(root, &st); err != nil {
		return fmt.Errorf("%w: ask for the file system of %s: %w", ErrRoot, merkle.QuotePath(root), err)
	}
	if !local(int64(st.Type)) { //nolint:unconvert // int32 on some
		return fmt.Errorf("%w (type %#x)", ErrUnproven, uint32(st.Type))
	}
	return nil
}

// openMounts opens the mount table of this process, or returns -1.
func openMounts() int {
	fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// mountsChanged reports whether something was mounted or unmounted since the last call:
// inotify does not report mounts over a directory.
func mountsChanged(fd int) bool {
	if fd < 0 {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}
	n, err := unix.Poll(poll, 0)
	return err != nil || n > 0 && poll[0].Revents&(unix.POLLERR|unix.POLLPRI) != 0
}
