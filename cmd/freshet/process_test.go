package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that serves until it is killed, and may be started again then. It is
// used from one goroutine at a time. What it logs in all its lives is in one file.
type process struct {
	name string
	args []string
	env  []string
	dir  string
	log  string
	cmd  *exec.Cmd     // nil while it does not run
	died chan struct{} // closed when cmd has ended
	ends int           // how often it ended before it served, when it was started last
}

// readyWait bounds how long a process may take until it serves, and restarts how often it
// is started for that: like a container it ends when what it needs is not there yet. Where
// all of that was there, see servedAtOnce.
const (
	readyWait = 5 * time.Minute
	restarts  = 10
)

// newProcess makes a process that ends with the test at the latest.
func newProcess(t *testing.T, dir, name string, env []string, args ...string) *process {
	t.Helper()
	p := &process{name: name, args: args, env: env, dir: dir, log: filepath.Join(dir, name+".log")}
	t.Cleanup(func() {
		p.kill()
		if text, err := os.ReadFile(p.log); err == nil && t.Failed() {
			t.Logf("end of the log of %s:\n%s", name, tail(string(text), 3000))
		}
	})
	return p
}

func tail(text string, size int) string { return text[max(0, len(text)-size):] }

// start starts the process and returns when it says that it serves.
func (p *process) start() error {
	p.ends = 0
	var err error
	for range restarts {
		if err = p.startOnce(); err == nil {
			return nil
		}
	}
	return err
}

func (p *process) startOnce() (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, p.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, in, log
	cmd.Env = append(os.Environ(), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	_ = in.Close() // the process has its own
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	died, says := make(chan struct{}), make(chan struct{})
	go func() { // ends with the process
		defer close(died)
		defer func() { _ = out.Close() }()
		r := bufio.NewReader(out)
		if _, err := r.ReadString('\n'); err == nil {
			close(says)
		}
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait() // its log tells why
	}()
	p.cmd, p.died = cmd, died
	timer := time.NewTimer(readyWait)
	defer timer.Stop()
	select {
	case <-says:
		return nil
	case <-died:
		p.cmd = nil
		p.ends++
		return fmt.Errorf("%s ended before it served", p.name)
	case <-timer.C:
		p.kill()
		return fmt.Errorf("%s does not serve after %s", p.name, readyWait)
	}
}

// kill ends the process at once, if it runs.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.died
	p.cmd = nil
}

// signal sends a signal to a process that runs.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

// ended reports whether the process ended although nobody killed it.
func (p *process) ended() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.died:
		return true
	default:
		return false
	}
}

// startAll starts processes at once and returns when all of them serve.
func startAll(t *testing.T, all ...starter) {
	t.Helper()
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, s := range all {
		group.Go(func() { errs[i] = s.start() })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// servedAtOnce fails the test when a process that was just started ended before it served.
func servedAtOnce(t *testing.T, what string, all ...*process) {
	t.Helper()
	for _, p := range all {
		if p.ends > 0 {
			t.Errorf("%s: %s ended %d times before it served, though what it needs was there", what, p.name, p.ends)
		}
	}
}

// starter is what startAll starts.
type starter interface{ start() error }
