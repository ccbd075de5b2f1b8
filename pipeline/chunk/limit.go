//go:build linux

package chunk

import (
	"time"

	"golang.org/x/sys/unix"
)

// endWithParent asks the kernel to kill this process when its parent ends. A parent that
// ended before shows by the end of the input.
func endWithParent() error {
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}

// limitMemory bounds the data of this process. Address space is not bounded: the runtime
// reserves much more than it uses.
func limitMemory(bytes uint64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &limit); err != nil {
		return err
	}
	limit.Cur = min(bytes, limit.Max)
	return unix.Setrlimit(unix.RLIMIT_DATA, &limit)
}

// allowCPU lets this process use so much CPU time from now on before it gets SIGXCPU.
func allowCPU(more time.Duration) error {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	used := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CPU, &limit); err != nil {
		return err
	}
	limit.Cur = min(uint64((used+more)/time.Second)+1, limit.Max)
	return unix.Setrlimit(unix.RLIMIT_CPU, &limit)
}
