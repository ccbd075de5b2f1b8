package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/sqlitestore"
)

// The names of the findings about what a data directory holds.
const (
	storeCheck = "store"
	logCheck   = "log"
	asideCheck = "aside"
)

// diagnoseData reads everything that the data directory holds: every page and row of the
// database, every content, every segment and, while no host runs, every message of the log.
// A host that runs heals its log by itself.
func diagnoseData(ctx context.Context, opts Options) []tool.Finding {
	if opts.Cluster.Shared() {
		return nil
	}
	findings := []tool.Finding{diagnoseStore(ctx, opts.Home)}
	if _, held := datadir.Holder(opts.Home); !held {
		findings = append(findings, diagnoseLocalLog(ctx, opts))
	}
	for _, dir := range datadir.Aside(opts.Home) {
		findings = append(findings, poor(asideCheck, dir+" is a damaged store that was set aside", "when nothing in it is missed: rm -r "+tool.ShellWord(dir)))
	}
	return findings
}

func diagnoseStore(ctx context.Context, home string) tool.Finding {
	dir := datadir.StorePath(home)
	err := sqlitestore.Examine(ctx, dir)
	switch {
	case err == nil:
		return good(storeCheck, "every page, row, content and segment of the store is whole")
	case store.IsDamage(err):
		return broken(storeCheck, err.Error(), "run `freshet verify --repair` in a codebase: it sets the damaged store aside and embeds nothing that can be read of it")
	case errors.Is(err, store.ErrNewerSchema):
		return bad(storeCheck, err.Error(), "install a newer freshet")
	}
	return broken(storeCheck, fmt.Sprintf("%s cannot be read: %v", dir, err), "look for a failing disk, or at who may read it: ls -la "+tool.ShellWord(dir))
}

// diagnoseLocalLog opens a copy of the log of a data directory without a host and compares it
// with what the store knows of it.
func diagnoseLocalLog(ctx context.Context, opts Options) (f tool.Finding) {
	const heals = "nothing need be done: the next command begins the log anew and indexes what is missing"
	dir := datadir.LogPath(opts.Home)
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return good(logCheck, "the event log is made when it is first needed")
	}
	if err != nil || !info.IsDir() {
		return broken(logCheck, dir+" is not a directory that can be read", "move it aside: mv "+tool.ShellWord(dir)+" "+tool.ShellWord(dir+".aside"))
	}
	scratch, err := os.MkdirTemp("", "freshet-doctor-")
	if err != nil {
		return poor(logCheck, fmt.Sprintf("the event log was not checked: %v", err), "make room in the directory for temporary files")
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	copied := filepath.Join(scratch, datadir.LogName)
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		return broken(logCheck, fmt.Sprintf("the event log cannot be read: %v", err), heals)
	}
	log, err := natsbus.Open(ctx, natsbus.Options{Dir: copied, Log: opts.Log})
	if err != nil {
		return broken(logCheck, fmt.Sprintf("the event log does not open: %v", err), "move it aside: mv "+tool.ShellWord(dir)+" "+tool.ShellWord(dir+".aside"))
	}
	defer func() { _ = log.Close() }()
	if r := log.Report(); r.Recreated {
		return broken(logCheck, "the event log is damaged: "+r.Reason, heals)
	}
	known, err := sqlitestore.LogPosition(ctx, datadir.StorePath(opts.Home))
	if err != nil {
		return poor(logCheck, "what the store knows of the event log cannot be read", "mend the store first")
	}
	state, err := log.State(ctx)
	if err != nil {
		return broken(logCheck, fmt.Sprintf("the event log cannot be read: %v", err), heals)
	}
	if damage := bus.Damage(known, state); damage != "" {
		return broken(logCheck, "the event log is damaged: "+damage, heals)
	}
	return good(logCheck, fmt.Sprintf("the event log is whole, %d messages", state.Messages))
}
