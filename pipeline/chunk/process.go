package chunk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a running child process. It is used by one goroutine, apart from kill.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr *tail
	lacks  []string      // missing layers of its sandbox, by name
	exited chan struct{} // closed once the process was waited for
	once   sync.Once
}

// startChild starts a process and waits, at most for timeout, for its hello frame.
func startChild(command, env []string, timeout time.Duration) (*child, error) {
	c, err := spawn(command, env)
	if err != nil {
		return nil, fmt.Errorf("start parser child %s: %w", command[0], err)
	}
	timer := time.AfterFunc(timeout, c.kill)
	hello, err := readFrame(c.out, maxHello)
	if !timer.Stop() && err == nil {
		err = errTimeout
	}
	name, lacks, _ := strings.Cut(string(hello), "\n")
	if err == nil && name != helloText() {
		err = errOtherVersion
	}
	if err != nil {
		return nil, fmt.Errorf("start parser child %s: %w (%s) %s", command[0], err, c.stop(), c.stderr)
	}
	if lacks != "" {
		c.lacks = strings.Split(lacks, "\n")
	}
	return c, nil
}

// errOtherVersion is the start error of a child of another version: the program on disk was
// replaced while this one runs.
var errOtherVersion = errors.New("the program is of another version; restart this one")

// maxHello bounds the first frame of a child.
const maxHello = 4 << 10

// helloText is the first frame of a child: it names everything that a syntax depends on
// besides the content.
func helloText() string {
	grammars := Grammars()
	h := sha256.New()
	for _, language := range slices.Sorted(maps.Keys(grammars)) {
		h.Write(fmt.Appendf(nil, "%q %q\n", language, grammars[language]))
	}
	return fmt.Sprintf("freshet chunk child %d %s %x", protocol, Version, h.Sum(nil))
}

// childEnv is the environment of every child beside Options.Env. The environment of this
// process is not passed on: it holds tokens and keys.
const childEnv = "GOMAXPROCS=1"

// spawn starts a process that outlives the call, and so belongs to no context: stop ends it.
func spawn(command, env []string) (*child, error) {
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Env = append([]string{childEnv}, env...)
	cmd.Dir = "/"
	c := &child{cmd: cmd, stderr: &tail{}, exited: make(chan struct{})}
	cmd.Stderr = c.stderr
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), in.Close())
	}
	cmd.Stdin, cmd.Stdout, c.in, c.out = stdin, stdout, in, out
	err = errors.Join(cmd.Start(), stdin.Close(), stdout.Close())
	if cmd.Process == nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go func() { // ends with the process; stop waits for it
		defer close(c.exited)
		_ = cmd.Wait() // how it ended is in cmd.ProcessState, which stop reports
	}()
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, c.stop())
	}
	return c, nil
}

// ask sends a request and reads the reply.
func (c *child) ask(request []byte) ([]byte, error) {
	if err := writeFrame(c.in, request); err != nil {
		return nil, err
	}
	return readFrame(c.out, maxReply)
}

// kill ends the process at once. Requests under way fail. It does nothing to a process that
// has ended, which is the only error of Kill here.
func (c *child) kill() { _ = c.cmd.Process.Kill() }

// contentAtFault reports whether a stopped child ended by a crash, which its content caused.
// A process that was killed or that exceeded its CPU time proves nothing about the content.
func (c *child) contentAtFault() bool {
	if c.cmd.ProcessState.ExitCode() == exitCrash {
		return true
	}
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && slices.Contains([]syscall.Signal{
		syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGABRT, syscall.SIGILL, syscall.SIGFPE, syscall.SIGTRAP, syscall.SIGSYS,
	}, status.Signal())
}

// exitCrash is the exit status of a Go program that crashed, in its C code too.
const exitCrash = 2

// ended reports whether the process has ended.
func (c *child) ended() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// stop ends the process, waits for it and says how it ended. It may be called twice.
func (c *child) stop() string {
	c.once.Do(func() {
		_, _ = c.in.Close(), c.out.Close() // the pipes go with the process, whatever they say
		c.kill()
		<-c.exited
	})
	return c.cmd.ProcessState.String()
}

// maxTail bounds what is kept of a child's standard error, in bytes.
const maxTail = 2 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex // guards kept
	kept []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-maxTail):]...)
	if extra := len(t.kept) - maxTail; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return len(p), nil
}

// String is the text kept, trimmed.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "\uFFFD"))
}
