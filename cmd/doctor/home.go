package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/socket"
	"github.com/freshet/freshet/mcp/tool"
)

// existing is the directory, or the nearest one above it that exists.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return dir
		}
		dir = above
	}
}

func diagnoseHome(home string) tool.Finding {
	const check = "home"
	if info, err := os.Stat(home); err == nil && !info.IsDir() {
		return bad(check, home+" is not a directory", "move it aside, or choose another --home")
	}
	at := existing(home)
	if at != home {
		if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
			return bad(check, home+" cannot be made: "+at+" is not writable", "choose another --home, or set FRESHET_HOME")
		}
		return good(check, home+" is made when it is first needed")
	}
	probe, err := os.CreateTemp(home, datadir.ProbePrefix)
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return bad(check, fmt.Sprintf("%s is not writable: %v", home, err), "give this user the right to write to it, or choose another --home")
	}
	var refused *tool.Error
	if err := datadir.Check(home); errors.As(err, &refused) {
		return bad(check, refused.Message, tool.Command(refused.NextSteps[0])+": "+refused.NextSteps[0].Why)
	}
	if info, err := os.Stat(home); err == nil && info.Mode().Perm()&0o077 != 0 {
		return poor(check, fmt.Sprintf("%s may be read by other users (%s)", home, info.Mode().Perm()), "chmod 700 "+home)
	}
	return good(check, home+" is writable")
}

// The room below which an index may fail to grow, and at which it fails.
const (
	lowRoom = 1 << 30
	noRoom  = 16 << 20
)

func diagnoseDisk(home string) tool.Finding {
	const check = "disk"
	var st unix.Statfs_t
	if err := unix.Statfs(existing(home), &st); err != nil {
		return poor(check, fmt.Sprintf("the room cannot be asked for: %v", err), "")
	}
	free := st.Bavail * uint64(st.Bsize) //nolint:unconvert,gosec // its type differs by system
	detail := fmt.Sprintf("%.1f GB free", float64(free)/1e9)
	switch {
	case free < noRoom:
		return bad(check, detail, "free some space, or choose another --home")
	case free < lowRoom:
		return poor(check, detail, "an index takes about 1.3 times the size of the source")
	}
	return good(check, detail)
}

// answerTime is how long a host may take to say anything.
const answerTime = 5 * time.Second

func diagnoseHost(ctx context.Context, opts Options) tool.Finding {
	const check = "host"
	holder, held := datadir.Holder(opts.Home)
	if !held {
		return good(check, "none runs; the next call becomes it")
	}
	who := "a process"
	if holder > 0 {
		who = fmt.Sprintf("process %d", holder)
	}
	if socket.Suspended(holder) {
		return bad(check, who+" holds the data directory and is suspended, by Ctrl-Z, SIGSTOP or a debugger",
			fmt.Sprintf("kill -CONT %d lets it go on, kill -KILL %d ends it; another process takes its place", holder, holder))
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	started := time.Now()
	envelope, err := socket.Call(ctx, opts.Home, opts.Version, "status", json.RawMessage("{}"), func(tool.Notice) error { return nil })
	switch {
	case errors.Is(err, socket.ErrRefused):
		return bad(check, err.Error(), "install the same version everywhere, or end "+who)
	case err != nil:
		return bad(check, fmt.Sprintf("%s holds the data directory and does not answer: %v", who, err), "end it, then try again")
	case envelope.Error != nil:
		return bad(check, fmt.Sprintf("%s answers: %v", who, envelope.Error), "")
	}
	return good(check, fmt.Sprintf("%s answers in %.0f ms", who, math.Ceil(float64(time.Since(started).Microseconds())/1000)))
}
