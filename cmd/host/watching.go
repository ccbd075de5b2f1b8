package host

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store"
	merklesync "github.com/freshet/freshet/sync"
)

// watching is what a synchronizer of this host is told of watchers.
func (h *Host) watching() merklesync.Watching {
	if !h.opts.Watch {
		return merklesync.Watching{}
	}
	dir, err := filepath.EvalSymlinks(h.opts.Home)
	if err != nil {
		dir = h.opts.Home
	}
	return merklesync.Watching{Dir: dir}
}

// followAll starts the synchronizers of the codebases that are served, so that their
// changes are indexed although nobody asks. One that cannot be is followed when asked for.
func (h *Host) followAll(ctx context.Context) {
	codebases, err := h.store.Codebases(ctx)
	for _, c := range codebases {
		if c.Current == 0 || !h.here(c) {
			continue
		}
		if _, ferr := h.follow(c.ID); ferr != nil {
			err = errors.Join(err, ferr)
		}
	}
	if err != nil {
		h.opts.Log.Warn("codebases cannot be followed", "error", err)
	}
}

// watch reports on the watcher of a codebase.
func (h *Host) watch(id store.CodebaseID) tool.WatchReport {
	h.mu.Lock()
	f := h.followers[id]
	h.mu.Unlock()
	if f == nil {
		return tool.WatchReport{State: string(merklesync.WatchOff), Reason: "nobody has asked for this codebase yet"}
	}
	status := f.watch()
	report := tool.WatchReport{
		State: string(status.State), Reason: status.Reason, Watches: status.Watches,
		Since: status.Since, Missed: status.Missed,
	}
	if !h.opts.Watch {
		report.Reason = "this host lives for one command"
	}
	return report
}
