package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Advise says what to do about a data directory that cannot be opened.
func Advise(home string, err error) error {
	var known *tool.Error
	switch {
	case err == nil, errors.Is(err, ErrHeld), errors.As(err, &known),
		errors.Is(err, store.ErrNewerSchema), errors.Is(err, store.ErrMigrationModified):
		return err
	}
	e := tool.Errorf(tool.CodeStoreUnavailable, "data directory %s: %w", merkle.QuotePath(home), err)
	e.Retryable = false
	if errors.Is(err, store.ErrDiskFull) || full(home) {
		return e.Next(advice.Command("df -h "+tool.ShellWord(home), "shows the disk that is full; free some space and run the same command again, or choose another --home"))
	}
	if store.IsDamage(err) {
		return e.Next(advice.Command("freshet verify --repair", "sets the damaged store aside and makes a new one, with what can be read of the old one; run it in the directory of a codebase")).
			Next(advice.Command("freshet index", "indexes a directory again, if the new store does not know it"))
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return e.Next(advice.Command("ls -ld "+tool.ShellWord(nearest(home)), "shows whose the directory is; give this user the right to write to it, or choose another --home"))
	}
	return e.Next(advice.Command("ls -la "+tool.ShellWord(home), "shows what stands in the way; move it aside, or choose another --home"))
}

// nearest is the directory, or the first above it that exists.
func nearest(dir string) string {
	for {
		_, err := os.Lstat(dir)
		if up := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && up != dir {
			dir = up
			continue
		}
		return dir
	}
}

// room is how much a data directory must be able to take: less is a full disk.
const room = 256 << 10

// AdviseRoom gives an error the meaning of a full disk when the data directory has no
// room: the event log does not say why it could not write.
func AdviseRoom(home string, err error) error {
	if err == nil || errors.Is(err, store.ErrDiskFull) || !full(home) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
}

// full tries whether a directory takes another file of the size of room.
func full(dir string) bool {
	probe, err := os.CreateTemp(dir, ProbePrefix)
	if err == nil {
		_, err = probe.Write(make([]byte, room))
		err = errors.Join(err, probe.Close(), os.Remove(probe.Name()))
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
