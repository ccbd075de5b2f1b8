package datadir

import "path/filepath"

// The names inside a data directory.
const (
	StoreName  = "store"
	LogName    = "log"
	CacheName  = "cache" // segments of a shared store
	SocketName = "host.sock"

	lockName  = "lock"
	tokenName = "token"
)

// StorePath is where the store of a data directory stands.
func StorePath(home string) string { return filepath.Join(home, StoreName) }

// LogPath is where the event log of a data directory stands.
func LogPath(home string) string { return filepath.Join(home, LogName) }
