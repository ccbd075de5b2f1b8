package natsbus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// keepDamaged is how many damaged directories are kept for whoever wants to look.
const keepDamaged = 2

// moveAside puts a damaged directory out of the way and returns where to.
func moveAside(o Options) (string, error) {
	to := o.Dir + ".damaged-" + o.Now().UTC().Format("20060102T150405.000000000")
	if err := os.Rename(o.Dir, to); err != nil {
		return "", fmt.Errorf("move damaged log aside: %w", err)
	}
	return to, nil
}

// putBack is the reverse of moveAside.
func putBack(o Options, from string) error {
	if err := os.RemoveAll(o.Dir); err != nil {
		return fmt.Errorf("put log back: %w", err)
	}
	if err := os.Rename(from, o.Dir); err != nil {
		return fmt.Errorf("put log back: %w", err)
	}
	return nil
}

// dropOlder removes the oldest damaged directories beyond keepDamaged.
func dropOlder(o Options) error {
	older, err := filepath.Glob(escape(o.Dir) + ".damaged-*")
	if err != nil {
		return fmt.Errorf("list damaged logs: %w", err)
	}
	slices.Sort(older)
	for _, name := range older[:max(0, len(older)-keepDamaged)] {
		if err := os.RemoveAll(name); err != nil {
			return fmt.Errorf("remove an older damaged log: %w", err)
		}
	}
	return nil
}
