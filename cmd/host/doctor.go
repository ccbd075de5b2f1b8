package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/socket"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
)

// Diagnose examines what freshet stands on: the data directory, the host that there is, the
// limits of the system, the repository at dir, the model, the sockets, and of a cluster the
// servers, streams, tables and clocks. Of a data directory it reads all of the store and of
// the log, also where those do not open. It becomes no host and changes nothing, apart from
// a file in the data directory that it removes at once.
func Diagnose(ctx context.Context, opts Options, dir string) []tool.Finding {
	opts = opts.withDefaults()
	findings := []tool.Finding{
		good("version", fmt.Sprintf("freshet %s, protocol %d, %s on %s", opts.Version, socket.Protocol, runtime.Version(), runtime.GOARCH)),
		diagnoseHome(opts.Home), diagnoseDisk(opts.Home), diagnoseHost(ctx, opts),
	}
	findings = append(findings, diagnoseData(ctx, opts)...)
	findings = append(findings, diagnoseLimits()...)
	findings = append(findings, diagnoseParsers(opts.ChunkCommand)...)
	model, dimension := diagnoseProvider(ctx, opts)
	findings = append(findings, diagnoseGit(dir), model)
	findings = append(findings, diagnoseCluster(ctx, opts, dimension)...)
	return append(findings, diagnoseSockets(opts.Home)...)
}

func good(check, detail string) tool.Finding {
	return tool.Finding{Check: check, Grade: tool.GradeGood, Detail: detail}
}

func poor(check, detail, advice string) tool.Finding {
	return tool.Finding{Check: check, Grade: tool.GradePoor, Detail: detail, Advice: advice}
}

func bad(check, detail, advice string) tool.Finding {
	return tool.Finding{Check: check, Grade: tool.GradeBad, Detail: detail, Advice: advice}
}

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

// What the system ought to allow.
const (
	enoughWatches   = 65536
	enoughInstances = 128
	enoughFiles     = 1024
)

func diagnoseLimits() []tool.Finding {
	var findings []tool.Finding
	limits := []struct {
		check, file string
		enough      int
		advice      string
	}{
		{"watches", "max_user_watches", enoughWatches, "a larger tree is checked by a walk: sysctl fs.inotify.max_user_watches=524288"},
		{"instances", "max_user_instances", enoughInstances, "sysctl fs.inotify.max_user_instances=512"},
	}
	for _, l := range limits {
		data, err := os.ReadFile(filepath.Join("/proc/sys/fs/inotify", l.file))
		n, aerr := strconv.Atoi(strings.TrimSpace(string(data)))
		switch {
		case err != nil || aerr != nil:
			findings = append(findings, poor(l.check, "the system does not tell of inotify", "trees are checked by a walk"))
		case n < l.enough:
			findings = append(findings, poor(l.check, fmt.Sprintf("inotify allows %d %s", n, l.check), l.advice))
		default:
			findings = append(findings, good(l.check, fmt.Sprintf("inotify allows %d %s", n, l.check)))
		}
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Max < enoughFiles {
		return append(findings, poor("files", fmt.Sprintf("%d open files are allowed", files.Max), "ulimit -n 4096"))
	}
	return findings
}

// diagnoseParsers starts a parser as a host does, and tells what its confinement lacks. A
// program without one parses nothing.
func diagnoseParsers(command []string) []tool.Finding {
	const check = "parsers"
	if len(command) == 0 {
		return nil
	}
	lacks, err := chunk.Examine(command)
	switch {
	case err != nil:
		return []tool.Finding{bad(check, fmt.Sprintf("no parser starts: %v", err), "install the program again; nothing can be indexed without its parsers")}
	case len(lacks) > 0:
		return []tool.Finding{poor(check, "parsers run in processes of their own, less confined than they could be: "+strings.Join(lacks, "; "),
			"allow the system calls of Landlock and seccomp where a container forbids them, or use a newer kernel; parsing works without")}
	}
	return []tool.Finding{good(check, "parsers run without files, network, processes and environment")}
}

// diagnoseProvider opens the embedding provider that a host would use, without the memory
// of a data directory, and has it embed. It returns the dimension of its vectors, that of
// the built-in model where the provider does not tell.
func diagnoseProvider(ctx context.Context, opts Options) (tool.Finding, int) {
	opts.Home = ""
	provider, err := opts.openProvider(ctx)
	if err != nil {
		return bad(modelCheck, err.Error(), "put the FRESHET_EMBEDDER variables right, or start the service"), builtin.New().Recipe().Dimension
	}
	defer closeProvider(provider)
	return diagnoseModel(ctx, provider), provider.Recipe().Dimension
}

// modelCheck is the name of the findings about the embedding provider.
const modelCheck = "model"

// diagnoseModel has the provider embed a query. One elsewhere may be away, or refuse.
func diagnoseModel(ctx context.Context, provider embedding.Provider) tool.Finding {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	recipe, started := provider.Recipe(), time.Now()
	vectors, err := provider.Embed(ctx, embedding.Query, []string{"where is the configuration parsed"})
	var away *embedding.Unavailable
	switch {
	case errors.As(err, &away) || errors.Is(err, context.DeadlineExceeded):
		return bad(modelCheck, fmt.Sprintf("%s cannot be reached: %v", recipe.Provider, err),
			"start the provider, or correct its address; until then new text is searched by its words only")
	case err != nil:
		return bad(modelCheck, fmt.Sprintf("%s does not embed: %v", recipe.Model, err), "check the provider's key and model; one that is built in comes with the program: install it again")
	case len(vectors) != 1 || len(vectors[0]) != recipe.Dimension:
		return bad(modelCheck, fmt.Sprintf("%s answers with vectors of another size than %d", recipe.Model, recipe.Dimension), "set the model that the recipe names")
	}
	return good(modelCheck, fmt.Sprintf("%s of %s embeds into %d dimensions in %s", recipe.Model, recipe.Provider, recipe.Dimension, milliseconds(time.Since(started))))
}

// diagnoseGit looks at the repository that a directory lies in. It runs no git command: the
// configuration of a repository can execute programs.
func diagnoseGit(dir string) tool.Finding {
	const check = "git"
	top, gitDir := findGit(dir)
	if gitDir == "" {
		return good(check, dir+" is in no repository; .freshetignore says what to leave out")
	}
	head, err := os.ReadFile(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return poor(check, fmt.Sprintf("%s cannot be read: %v", gitDir, err), "answers do not name the branch")
	}
	for _, doing := range []struct{ file, name string }{
		{"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"}, {"MERGE_HEAD", "a merge"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"BISECT_LOG", "a bisection"},
	} {
		if _, err := os.Lstat(filepath.Join(gitDir, doing.file)); err == nil {
			return poor(check, top+" is in the middle of "+doing.name, "what is searched is the tree as it is now")
		}
	}
	if ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: "); ok {
		return good(check, top+" is at "+strings.TrimPrefix(ref, "refs/heads/"))
	}
	return good(check, fmt.Sprintf("%s is at no branch, at %.12s", top, strings.TrimSpace(string(head))))
}

// findGit finds the top of the working tree that a directory lies in, and its git
// directory; a linked worktree and a submodule name theirs in a file.
func findGit(dir string) (top, gitDir string) {
	for {
		candidate := filepath.Join(dir, ".git")
		info, err := os.Lstat(candidate)
		if err == nil && info.IsDir() {
			return dir, candidate
		}
		if err == nil && info.Mode().IsRegular() {
			data, err := os.ReadFile(candidate)
			named, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
			if err == nil && ok && !filepath.IsAbs(named) {
				named = filepath.Join(dir, named)
			}
			if err == nil && ok {
				return dir, named
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", ""
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", ""
		}
		dir = above
	}
}
