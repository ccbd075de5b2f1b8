package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/chunk"
)

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
