//go:build linux && (amd64 || arm64)

package chunk

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allowedCalls are the system calls that the Go runtime, the C library's allocator and a
// child's own loop make once a child is up: memory, threads, signals of its own, time, and
// what is done with open descriptors. All others fail with EPERM.
func allowedCalls() []uint32 {
	return []uint32{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_LSEEK, unix.SYS_PPOLL,
		unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MINCORE, unix.SYS_MEMBARRIER,
		unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETCPU,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRUSAGE, unix.SYS_SYSINFO, unix.SYS_UNAME, unix.SYS_GETRANDOM,
		unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
		unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_CTL, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	}
}

// rule allows a system call by one of its arguments, of which the lower half is compared.
type rule struct {
	call     uint32
	argument uint32
	jump     uint16 // how the argument is compared with values
	values   []uint32
	match    bool // the call is allowed if one of values matches, or if none does
}

func allowedByArgument() []rule {
	pid := uint32(os.Getpid()) //nolint:gosec // it fits
	return []rule{
		{unix.SYS_CLONE, 0, unix.BPF_JSET, []uint32{unix.CLONE_THREAD}, true},
		{unix.SYS_TGKILL, 0, unix.BPF_JEQ, []uint32{pid}, true},
		{unix.SYS_MMAP, 2, unix.BPF_JSET, []uint32{unix.PROT_EXEC}, false},
		{unix.SYS_MPROTECT, 2, unix.BPF_JSET, []uint32{unix.PROT_EXEC}, false},
		{unix.SYS_PRLIMIT64, 0, unix.BPF_JEQ, []uint32{0, pid}, true},
		{unix.SYS_PRCTL, 0, unix.BPF_JEQ, []uint32{unix.PR_SET_VMA}, true},
		{unix.SYS_FCNTL, 1, unix.BPF_JEQ, []uint32{unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL}, true},
	}
}

// The offsets in the data of a filter, of which the arguments have 8 bytes each.
const (
	callOffset         = 0
	architectureOffset = 4
	argumentsOffset    = 16
)

// filter returns the BPF program that decides on each system call.
func filter() []unix.SockFilter {
	architecture := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	statement := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	load := func(offset uint32) unix.SockFilter { return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }
	jump := func(how uint16, k uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k} //nolint:gosec // at most 8
	}
	verdict := func(k uint32) unix.SockFilter { return statement(unix.BPF_RET|unix.BPF_K, k) }
	refuse := verdict(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	allow := verdict(unix.SECCOMP_RET_ALLOW)
	program := []unix.SockFilter{
		load(architectureOffset), jump(unix.BPF_JEQ, architecture, 1, 0), verdict(unix.SECCOMP_RET_KILL_PROCESS),
		load(callOffset),
		// The arguments of clone3 cannot be read; without it the C library calls clone.
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), verdict(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
	}
	for _, call := range allowedCalls() {
		program = append(program, jump(unix.BPF_JEQ, call, 0, 1), allow)
	}
	for _, r := range allowedByArgument() {
		matched, other := allow, refuse
		if !r.match {
			matched, other = refuse, allow
		}
		program = append(program, jump(unix.BPF_JEQ, r.call, 0, len(r.values)+3), load(argumentsOffset+8*r.argument))
		for i, value := range r.values {
			program = append(program, jump(r.jump, value, len(r.values)-i, 0))
		}
		program = append(program, other, matched)
	}
	return append(program, refuse)
}

// installSeccomp installs the filter on all threads of this process. It needs no_new_privs.
func installSeccomp() error {
	program := filter()
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // a few hundred
	thread, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	switch {
	case errno != 0:
		return fmt.Errorf("the kernel takes no filter: %w", errno)
	case thread != 0:
		return fmt.Errorf("thread %d takes no filter", thread)
	}
	return nil
}
