//go:build linux && (amd64 || arm64)

// Package fsyncs shows a test the fsync system calls that code under test makes, and fails
// those that the test chooses. It uses a seccomp filter with a user-space listener, so that
// the code under test needs no seam for it.
package fsyncs

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification and response are the kernel's struct seccomp_notif and seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32
	call       struct {
		number       int32
		architecture uint32
		instruction  uint64
		arguments    [6]uint64
	}
}

type response struct {
	id           uint64
	value        int64
	failure      int32
	continuation uint32
}

// Watch runs work, and calls decide with the path of each file that the goroutine of work is
// about to fsync; a decision other than 0 is the error that the fsync fails with. The
// goroutine has a thread of its own: calls by other goroutines are not seen. decide is called
// from another goroutine, while work waits. It skips the test where the kernel refuses the
// filter.
func Watch(t testing.TB, work func() error, decide func(path string) unix.Errno) error {
	t.Helper()
	stopped, stop, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	installed, done := make(chan error, 1), make(chan error, 1)
	var listener int
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		var err error
		listener, err = install()
		if installed <- err; err == nil {
			done <- work()
		}
	}()
	if err := <-installed; err != nil {
		t.Skipf("no seccomp filter: %v", err)
	}
	listening := make(chan error, 1)
	go func() {
		err := listen(listener, int(stopped.Fd()), decide)
		listening <- errors.Join(err, unix.Close(listener)) // a call that still waits fails then
	}()
	err = <-done
	if stopping := errors.Join(stop.Close(), <-listening, stopped.Close()); stopping != nil {
		t.Fatal(stopping)
	}
	return err
}

// install has the fsyncs of this thread wait for the listener that it returns.
func install() (listener int, err error) {
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FSYNC, Jt: 2},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FDATASYNC, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// listen decides on calls until stopped is closed at its other end.
func listen(listener, stopped int, decide func(path string) unix.Errno) error {
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(stopped)}}
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("poll: %w", err)
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			if ready[1].Revents != 0 {
				return nil
			}
			continue
		}
		var asked notification
		err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&asked))
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) { // a signal interrupted the call, which is made again
			continue
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", asked.call.arguments[0]))
		if err != nil {
			return err
		}
		answer := response{id: asked.id, continuation: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if errno := decide(path); errno != 0 {
			answer.failure, answer.continuation = -int32(errno), 0
		}
		if err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}
