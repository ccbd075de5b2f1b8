package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrHeld is returned by Lock while another process holds the lock.
var ErrHeld = errors.New("data directory is held by another process")

// Lock takes the lock of a data directory, which is made if it is not there. The
// lock goes with the process, however it ends.
func Lock(home string) (*os.File, error) {
	if err := Ensure(home); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(home, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(ErrHeld, file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock data directory: %w", err), file.Close())
	}
	if err := markHome(home); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Holder says whether the lock of a data directory is held, and by which process as
// far as the system tells.
func Holder(home string) (pid int, held bool) {
	file, err := os.Open(filepath.Join(home, lockName))
	if err != nil {
		return 0, false
	}
	defer func() { _ = file.Close() }()
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false // closing the file gives the lock back
	}
	var st unix.Stat_t
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || unix.Fstat(int(file.Fd()), &st) != nil {
		return 0, true
	}
	inode := ":" + strconv.FormatUint(st.Ino, 10)
	for line := range strings.Lines(string(locks)) {
		fields := strings.Fields(line)
		if len(fields) > 5 && fields[1] == "FLOCK" && strings.HasSuffix(fields[5], inode) {
			pid, _ = strconv.Atoi(fields[4])
		}
	}
	return pid, true
}
