package datadir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The beginnings of the names of what a process leaves behind when it is killed.
const (
	ScratchPrefix = "rebuild-"
	ProbePrefix   = "probe-"
	WatchPrefix   = "watch-" // made by package watch
)

// Scratch makes a directory for a store that is thrown away, inside the data
// directory, where there is room for an index.
func Scratch(home string) (string, error) {
	dir, err := os.MkdirTemp(home, ScratchPrefix)
	if err != nil {
		return "", err
	}
	return filepath.Clean(dir), nil
}

// Sweep removes what killed processes left in a data directory. The caller holds the lock.
func Sweep(home string) error {
	entries, err := os.ReadDir(home)
	if err != nil {
		return fmt.Errorf("list data directory: %w", err)
	}
	for _, entry := range entries {
		left := func(prefix string) bool { return strings.HasPrefix(entry.Name(), prefix) }
		if name := entry.Name(); left(ScratchPrefix) || left(ProbePrefix) || left(WatchPrefix) {
			if err := os.RemoveAll(filepath.Join(home, name)); err != nil {
				return fmt.Errorf("remove what a killed process left: %w", err)
			}
		}
	}
	return nil
}
