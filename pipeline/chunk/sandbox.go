//go:build linux

package chunk

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// sandboxLayers lists the layers of a child's sandbox, in the order of their application.
// Each works without the others, and on all threads.
func sandboxLayers() []sandboxLayer {
	return []sandboxLayer{
		{"descriptors", closeInherited},
		{"no_new_privs", setNoNewPrivs},
		{"landlock", restrictWithLandlock},
		{"rlimits", setResourceLimits},
		{"seccomp", installSeccomp},
	}
}

// closeInherited closes the inherited file descriptors other than the standard ones. Those
// of the Go runtime stay open.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err != nil || strings.HasPrefix(target, "anon_inode:[event") {
			continue // the one that listed the others is closed already
		}
		if err := unix.Close(fd); err != nil {
			return fmt.Errorf("close %s: %w", target, err)
		}
	}
	return nil
}

// setNoNewPrivs sets no_new_privs: exec gives this process no more privileges.
func setNoNewPrivs() error {
	if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// The versions of Landlock's ABI that added a kind of restriction.
const (
	landlockNetwork = 4
	landlockScopes  = 6
)

// restrictWithLandlock denies this process all access to files that are not open yet, to TCP,
// and to abstract sockets and signals of other processes.
func restrictWithLandlock() error {
	version, err := llsyscall.LandlockGetABIVersion()
	if err != nil || version < 1 {
		return fmt.Errorf("the kernel has none (Linux 5.13 and newer, enabled by lsm=landlock): %v", err)
	}
	if err := landlock.V11.BestEffort().Restrict(); err != nil {
		return err
	}
	switch {
	case version < landlockNetwork:
		return fmt.Errorf("version %d restricts files only; TCP needs Linux 6.7, signals 6.12", version)
	case version < landlockScopes:
		return fmt.Errorf("version %d restricts files and TCP; signals need Linux 6.12", version)
	}
	return nil
}

// maxThreads is the number of threads at which new ones are refused: one in a parser, one
// that waits for signals, the monitor, one for the garbage collector, and as many more.
const maxThreads = 8

// setResourceLimits sets rlimits: it bounds the memory of this process and denies it new
// processes, files and descriptors. The runtime starts its threads and its poller before.
func setResourceLimits() error {
	time.AfterFunc(time.Hour, func() {}).Stop() // a timer makes the runtime open its poller
	var ready, done sync.WaitGroup
	ready.Add(maxThreads)
	for range maxThreads {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			ready.Wait()
		})
	}
	done.Wait()
	for _, l := range []struct {
		name     string
		resource int
		max      uint64
	}{
		{"core", unix.RLIMIT_CORE, 0},
		{"file size", unix.RLIMIT_FSIZE, 0},
		{"locked memory", unix.RLIMIT_MEMLOCK, 0},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"processes", unix.RLIMIT_NPROC, 0},
		{"open files", unix.RLIMIT_NOFILE, 0},
		{"memory", unix.RLIMIT_DATA, childMemory},
	} {
		var limit unix.Rlimit
		if err := unix.Getrlimit(l.resource, &limit); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		limit.Max = min(limit.Max, l.max)
		limit.Cur = limit.Max
		if err := unix.Setrlimit(l.resource, &limit); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}
