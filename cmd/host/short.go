package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// shortDirectory names a directory for the socket of a data directory whose own path is
// too long for a socket address.
func shortDirectory(home string) string {
	sum := sha256.Sum256([]byte(home))
	return filepath.Join(os.TempDir(), fmt.Sprintf("freshet-%d-%s", os.Getuid(), hex.EncodeToString(sum[:8])))
}

// ensureShort makes the short directory where one is needed, and refuses one that belongs
// to somebody else.
func ensureShort(home string) error {
	path := socketPath(home)
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
