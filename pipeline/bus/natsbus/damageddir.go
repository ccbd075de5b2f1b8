package natsbus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// maxDamagedDirs is how many damaged directories are kept for inspection.
const maxDamagedDirs = 2

// moveDamaged renames the damaged directory of the log and returns its new name.
func moveDamaged(o Options) (string, error) {
	to := o.Dir + ".damaged-" + o.Now().UTC().Format("20060102T150405.000000000")
	if err := os.Rename(o.Dir, to); err != nil {
		return "", fmt.Errorf("rename damaged log: %w", err)
	}
	return to, nil
}

// restoreMoved undoes moveDamaged.
func restoreMoved(o Options, from string) error {
	if err := os.RemoveAll(o.Dir); err != nil {
		return fmt.Errorf("put log back: %w", err)
	}
	if err := os.Rename(from, o.Dir); err != nil {
		return fmt.Errorf("put log back: %w", err)
	}
	return nil
}

// pruneDamaged removes the oldest damaged directories beyond maxDamagedDirs.
func pruneDamaged(o Options) error {
	older, err := filepath.Glob(escape(o.Dir) + ".damaged-*")
	if err != nil {
		return fmt.Errorf("list damaged logs: %w", err)
	}
	slices.Sort(older)
	for _, name := range older[:max(0, len(older)-maxDamagedDirs)] {
		if err := os.RemoveAll(name); err != nil {
			return fmt.Errorf("remove an older damaged log: %w", err)
		}
	}
	return nil
}
