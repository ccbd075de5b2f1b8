package operation

import (
	"errors"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/scan"
)

// Advise says what to do next about an operation that failed in a data directory.
func Advise(home string, id store.CodebaseID, err error) []tool.NextStep {
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
			advice.Command("df -h "+tool.ShellWord(datadir.StorePath(home))+" "+tool.ShellWord(datadir.LogPath(home)),
				"shows the disk that is full"),
			advice.Command("freshet gc", "frees what no retained snapshot needs; the index stays as it was"),
			manage("sync", "goes on once there is room; what was done is not done twice"),
		}
	case store.IsDamage(err):
		return []tool.NextStep{advice.RepairStep(id)}
	case errors.Is(err, store.ErrNewerSchema):
		return []tool.NextStep{advice.Command("freshet version", "shows the version of this binary; install a newer one")}
	}
	return []tool.NextStep{manage("sync", "tries again; what was done is not done twice")}
}
