package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// errHeld is returned by lockDirectory while another process holds the lock.
var errHeld = errors.New("data directory is held by another process")

// The names inside a data directory.
const (
	lockName   = "lock"
	socketName = "host.sock"
	tokenName  = "token"
	storeName  = "store"
	logName    = "log"
)

// lockDirectory takes the lock of a data directory, which is made if it is not there. The
// lock goes with the process, however it ends.
func lockDirectory(home string) (*os.File, error) {
	if err := ensureHome(home); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(home, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(errHeld, file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock data directory: %w", err), file.Close())
	}
	if err := markHome(home); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
