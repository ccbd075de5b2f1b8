//go:build linux

package chunk

import (
	"time"

	"golang.org/x/sys/unix"
)

// endWithParent has the kernel kill this process when its parent ends (PR_SET_PDEATHSIG). If
// the parent ended before, the input ends.
func endWithParent() error {
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}

// allowCPU bounds the CPU time of this process from now on; beyond it gets SIGXCPU.
func allowCPU(more time.Duration) error {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	used := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	var limit unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_CPU, nil, &limit); err != nil {
		return err
	}
	limit.Cur = min(uint64((used+more)/time.Second)+1, limit.Max)
	return unix.Prlimit(0, unix.RLIMIT_CPU, &limit, nil)
}
