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

// Held is the lock of a data directory, held by this process. It is a lock of a file in the
// directory and, where the file system has locks of directories, one of the directory itself:
// a lock file that somebody removes does not let a second host in. Its methods are for one
// goroutine at a time.
type Held struct {
	home      string
	file      *os.File
	directory *os.File // nil where directories cannot be locked
}

// Lock takes the lock of a data directory, which is made if it is not there. The
// lock goes with the process, however it ends.
func Lock(home string) (*Held, error) {
	if err := Ensure(home); err != nil {
		return nil, err
	}
	file, err := lockFile(home)
	if err != nil {
		return nil, err
	}
	held := &Held{home: home, file: file}
	if held.directory, err = lockHome(home); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	if err := markHome(home); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return held, nil
}

func lockFile(home string) (*os.File, error) {
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
	return file, nil
}

// lockHome locks the directory itself. It returns nil where that cannot be done.
func lockHome(home string) (*os.File, error) {
	directory, err := os.Open(home)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	err = syscall.Flock(int(directory.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(ErrHeld, directory.Close())
	}
	if err != nil { // NFS has no locks of directories
		return nil, directory.Close()
	}
	return directory, nil
}

// Restore makes the lock file again when it was removed or replaced, and reports whether it
// was. It returns ErrHeld when another process has taken the lock of the other file.
func (l *Held) Restore() (restored bool, err error) {
	mine, err := l.file.Stat()
	if err != nil {
		return false, fmt.Errorf("look at the lock: %w", err)
	}
	if there, err := os.Lstat(filepath.Join(l.home, lockName)); err == nil && os.SameFile(mine, there) {
		return false, nil
	}
	file, err := lockFile(l.home)
	if err != nil {
		return false, err
	}
	old := l.file
	l.file = file
	return true, old.Close()
}

// Close gives the lock back.
func (l *Held) Close() error {
	err := l.file.Close()
	if l.directory != nil {
		err = errors.Join(err, l.directory.Close())
	}
	return err
}

// Holder says whether the lock of a data directory is held, and by which process as
// far as the system tells.
func Holder(home string) (pid int, held bool) {
	for _, path := range []string{filepath.Join(home, lockName), home} {
		if pid, held = holderOf(path); held {
			return pid, true
		}
	}
	return 0, false
}

// holderOf says whether a file or directory is locked, and by which process.
func holderOf(path string) (pid int, held bool) {
	file, err := os.Open(path)
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
