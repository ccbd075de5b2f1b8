package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/cluster"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
	"github.com/freshet/freshet/sync/scan"
)

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
			advice.Command("df -h "+tool.ShellWord(datadir.StorePath(h.opts.Home))+" "+tool.ShellWord(datadir.LogPath(h.opts.Home)),
				"shows the disk that is full"),
			advice.Command("freshet gc", "frees what no retained snapshot needs; the index stays as it was"),
			manage("sync", "goes on once there is room; what was done is not done twice"),
		}
	case advice.IsDamage(err):
		return []tool.NextStep{advice.RepairStep(id)}
	case errors.Is(err, store.ErrNewerSchema):
		return []tool.NextStep{advice.Command("freshet version", "shows the version of this binary; install a newer one")}
	}
	return []tool.NextStep{manage("sync", "tries again; what was done is not done twice")}
}

// adviseOpening says what to do about what a data directory or a cluster holds and cannot
// be opened. A store that is shared is none of the directory.
func (h *Host) adviseOpening(err error) error {
	if h.shared() && advice.IsDamage(err) {
		return cluster.AdviseDamage(err)
	}
	return datadir.Advise(h.opts.Home, err)
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

// adviseFull says what to do about a full disk, to an operation that ended with it.
func adviseFull(err error) error {
	if errors.Is(err, store.ErrDiskFull) {
		return fmt.Errorf("%w; what was done is kept: free some space and run the same command again", err)
	}
	return err
}
