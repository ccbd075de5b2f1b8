package socket

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/freshet/freshet/cmd/advice"
	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/sync/merkle"
)

// A host sends a sign of life every beatEvery while a call is under way. After silenceCheck
// without one a client looks whether the host is suspended; after maxSilences of them it
// gives up on one that is not, which a machine under load may have held up.
const (
	beatEvery    = time.Second
	SilenceCheck = 5 * time.Second
	maxSilences  = 12
)

// Suspended reports whether a process is stopped by a signal or a debugger.
func Suspended(pid int) bool {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if pid == 0 || err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data[max(0, strings.LastIndexByte(string(data), ')')):]), " ")
	return strings.HasPrefix(rest, "T") || strings.HasPrefix(rest, "t")
}

// Silent is the error of a host that gave no sign of life for a while: it names the process
// and what to do.
func Silent(home string, pid int, lasted time.Duration) *tool.Error {
	if pid == 0 {
		pid, _ = datadir.Holder(home)
	}
	who, stop := "the process that holds", ""
	if pid > 0 {
		who, stop = fmt.Sprintf("process %d, which holds", pid), fmt.Sprintf("kill %d", pid)
	}
	text := fmt.Sprintf("%s the data directory %s, has given no sign of life for %s", who, merkle.QuotePath(home), lasted)
	if !Suspended(pid) {
		e := tool.Errorf(tool.CodeStoreUnavailable, "%s", text).Detail("pid", pid)
		if stop == "" {
			return e.Next(advice.Command("freshet doctor", "looks for the process"))
		}
		return e.Next(advice.Command(stop, "ends it; another process takes its place, and nothing is lost"))
	}
	return tool.Errorf(tool.CodeStoreUnavailable, "%s: it is suspended, by Ctrl-Z, SIGSTOP or a debugger", text).Detail("pid", pid).
		Next(advice.Command(fmt.Sprintf("kill -CONT %d", pid), "lets it go on")).
		Next(advice.Command(fmt.Sprintf("kill -KILL %d", pid), "ends it; another process takes its place, and nothing is lost"))
}
