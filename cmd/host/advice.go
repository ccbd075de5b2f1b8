package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

// adviseRoot says what to do about a root that cannot be scanned. Its index is kept: files
// that cannot be reached were not deleted.
func adviseRoot(id store.CodebaseID, err error) error {
	switch {
	case errors.Is(err, scan.ErrRootVanished), errors.Is(err, scan.ErrRootEmptied):
		return fmt.Errorf("%w; the index is kept: put the directory back, or give the index up with `freshet clear %s`", err, id)
	case errors.Is(err, scan.ErrRootUnreadable):
		return fmt.Errorf("%w; the index is kept: give this user the right to read the directory", err)
	case errors.Is(err, scan.ErrRootIsData):
		return fmt.Errorf("%w; the index is kept: remove %s if no freshet uses the directory, or give the index up with `freshet clear %s`", err, scan.DataMarker, id)
	}
	return err
}

// rootError is adviseRoot for a verb that ends with it.
func rootError(id store.CodebaseID, err error) error {
	advised := adviseRoot(id, err)
	switch {
	case errors.Is(err, scan.ErrRootVanished), errors.Is(err, scan.ErrRootEmptied):
		return tool.Errorf(tool.CodePathNotFound, "%w", advised)
	case errors.Is(err, scan.ErrRootUnreadable), errors.Is(err, scan.ErrRootIsData):
		return tool.Errorf(tool.CodePermissionDenied, "%w", advised)
	}
	return advised
}

// adviseFailure says what to do next about an operation that failed.
func (h *Host) adviseFailure(id store.CodebaseID, err error) []tool.NextStep {
	manage := func(action, why string) tool.NextStep {
		return tool.NextStep{Tool: tool.ToolManage, Arguments: map[string]any{"action": action, "codebase": string(id)}, Why: why}
	}
	switch {
	case errors.Is(err, scan.ErrRootVanished), errors.Is(err, scan.ErrRootEmptied):
		return []tool.NextStep{
			manage("sync", "goes on once the directory is back"),
			manage("clear", "gives the index up, when the directory is gone for good"),
		}
	case errors.Is(err, scan.ErrRootUnreadable):
		return []tool.NextStep{manage("sync", "goes on once this user may read the directory")}
	case errors.Is(err, store.ErrDiskFull):
		return []tool.NextStep{
			command("df -h "+tool.ShellWord(filepath.Join(h.opts.Home, storeName))+" "+tool.ShellWord(filepath.Join(h.opts.Home, logName)),
				"shows the disk that is full"),
			command("freshet gc", "frees what no retained snapshot needs; the index stays as it was"),
			manage("sync", "goes on once there is room; what was done is not done twice"),
		}
	case damaged(err):
		return []tool.NextStep{repairStep(id)}
	case errors.Is(err, store.ErrNewerSchema):
		return []tool.NextStep{command("freshet version", "shows the version of this binary; install a newer one")}
	}
	return []tool.NextStep{manage("sync", "tries again; what was done is not done twice")}
}

// adviseOpening says what to do about what a data directory or a cluster holds and cannot
// be opened. A store that is shared is none of the directory.
func (h *Host) adviseOpening(err error) error {
	if h.shared() && damaged(err) {
		return cluster.AdviseDamage(err)
	}
	return adviseHome(h.opts.Home, err)
}

// adviseHome says what to do about a data directory that cannot be opened.
func adviseHome(home string, err error) error {
	var known *tool.Error
	switch {
	case err == nil, errors.Is(err, errHeld), errors.As(err, &known),
		errors.Is(err, store.ErrNewerSchema), errors.Is(err, store.ErrMigrationModified):
		return err
	}
	e := tool.Errorf(tool.CodeStoreUnavailable, "data directory %s: %w", merkle.QuotePath(home), err)
	e.Retryable = false
	if errors.Is(err, store.ErrDiskFull) || full(home) {
		return e.Next(command("df -h "+tool.ShellWord(home), "shows the disk that is full; free some space and run the same command again, or choose another --home"))
	}
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrChecksum) {
		return e.Next(command("freshet verify --repair", "sets the damaged store aside and makes a new one, with what can be read of the old one; run it in the directory of a codebase")).
			Next(command("freshet index", "indexes a directory again, if the new store does not know it"))
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return e.Next(command("ls -ld "+tool.ShellWord(nearest(home)), "shows whose the directory is; give this user the right to write to it, or choose another --home"))
	}
	return e.Next(command("ls -la "+tool.ShellWord(home), "shows what stands in the way; move it aside, or choose another --home"))
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

// adviseFile says what to do about a file that cannot be made.
func adviseFile(path string, err error) error {
	dir := merkle.QuotePath(filepath.Dir(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(tool.CodePathNotFound, "the directory %s does not exist; make it, or name a file in another", dir).
			Detail("directory", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return tool.Errorf(tool.CodePathNotFound, "%s is not a directory; name a file in one", dir).Detail("directory", dir)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return tool.Errorf(tool.CodePermissionDenied, "no file can be made in %s; give this user the right to write to it, or name a file in another directory", dir).
			Detail("directory", dir)
	}
	return fmt.Errorf("make file: %w", err)
}

func command(line, why string) tool.NextStep {
	return tool.NextStep{Tool: tool.ToolCommandLine, Arguments: map[string]any{"command": line}, Why: why}
}

// room is how much a data directory must be able to take: less is a full disk.
const room = 256 << 10

// adviseRoom gives an error the meaning of a full disk when the data directory has no
// room: the event log does not say why it could not write.
func adviseRoom(home string, err error) error {
	if err == nil || errors.Is(err, store.ErrDiskFull) || !full(home) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
}

// adviseFull says what to do about a full disk, to an operation that ended with it.
func adviseFull(err error) error {
	if errors.Is(err, store.ErrDiskFull) {
		return fmt.Errorf("%w; what was done is kept: free some space and run the same command again", err)
	}
	return err
}

// full tries whether a directory takes another file of the size of room.
func full(dir string) bool {
	probe, err := os.CreateTemp(dir, probePrefix)
	if err == nil {
		_, err = probe.Write(make([]byte, room))
		err = errors.Join(err, probe.Close(), os.Remove(probe.Name()))
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
