package socket

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/freshet/freshet/cmd/datadir"
)

// maxSocketPath is what a Unix socket address holds, less its terminator.
const maxSocketPath = 107

// Path is where the socket of a data directory stands. A path too long for a socket
// address is replaced by one in the temporary directory that is the user's alone.
func Path(home string) string {
	path := filepath.Join(home, datadir.SocketName)
	if len(path) <= maxSocketPath {
		return path
	}
	return filepath.Join(shortDirectory(home), datadir.SocketName)
}

// shortDirectory names a directory for the socket of a data directory whose own path is
// too long for a socket address.
func shortDirectory(home string) string {
	sum := sha256.Sum256([]byte(home))
	return filepath.Join(os.TempDir(), fmt.Sprintf("freshet-%d-%s", os.Getuid(), hex.EncodeToString(sum[:8])))
}

// ensurePath makes the short directory where one is needed, and refuses one that belongs
// to somebody else.
func ensurePath(home string) error {
	path := Path(home)
	dir := filepath.Dir(path)
	if dir == home {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make socket directory: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("inspect socket directory: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("socket directory %s is not this user's alone; remove it, or choose a shorter --home", dir)
	}
	return nil
}
