package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ProgramsEnv names the directory of PostgreSQL's programs, which `.ci/postgres` tells.
const ProgramsEnv = "FRESHET_TEST_POSTGRES_BIN"

// ErrNoPrograms says that a test cannot start a server of its own.
var ErrNoPrograms = fmt.Errorf("no programs of PostgreSQL: set %s, or run the test under .ci/postgres with %s unset", ProgramsEnv, URLEnv)

// Private is a server of one test, which may kill it, stop it and start it again. It is
// used from one goroutine. It does not sync its files: what it committed outlives its
// process, and need not outlive the machine.
type Private struct {
	programs string
	dir      string
	port     int
	owner    *syscall.Credential // nil means who runs the test
	cmd      *exec.Cmd           // nil while it does not run
	ended    chan struct{}       // closed when cmd has ended
}

// startWait bounds how long a server may take to answer, its recovery included.
const startWait = 5 * time.Minute

// StartPrivate starts a server with an empty database that has pgvector. It ends with the
// test. A test that cannot have one is skipped, or fails where PostgreSQL is required.
func StartPrivate(t testing.TB) *Private {
	t.Helper()
	p, err := makePrivate(t)
	if errors.Is(err, ErrNoPrograms) {
		err = errors.Join(ErrNoServer, err)
	}
	Need(t, err)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), p.URL(), "CREATE EXTENSION vector"); err != nil {
		t.Fatal(err)
	}
	return p
}

// makePrivate makes the files of a server. It runs as the user postgres where the test runs
// as root, whom it refuses.
func makePrivate(t testing.TB) (*Private, error) {
	p := &Private{programs: os.Getenv(ProgramsEnv)}
	if p.programs == "" {
		return nil, ErrNoPrograms
	}
	var err error
	if p.dir, err = os.MkdirTemp("/var/tmp", "freshet-pg."); err != nil { // a short path, for its socket
		return nil, err
	}
	t.Cleanup(func() {
		p.Kill()
		if err := os.RemoveAll(p.dir); err != nil {
			t.Error(err)
		}
	})
	if os.Getuid() == 0 {
		if p.owner, err = credential("postgres"); err != nil {
			return nil, err
		}
		if err := os.Chown(p.dir, int(p.owner.Uid), int(p.owner.Gid)); err != nil {
			return nil, err
		}
	}
	if p.port, err = freePort(); err != nil {
		return nil, err
	}
	initdb := p.command("initdb", "-D", p.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return p, nil
}

// freePort returns a port of loopback that was free a moment ago, below those that systems
// give to connections that go out: one of those would keep the server from coming back.
func freePort() (int, error) {
	for tries := 0; ; tries++ {
		port := 10_000 + rand.IntN(20_000)                                    //nolint:gosec // no secret
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)) //nolint:noctx // it is closed at once
		if err == nil {
			return port, listener.Close()
		}
		if tries > 1000 {
			return 0, err
		}
	}
}

func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func (p *Private) data() string { return filepath.Join(p.dir, "data") }

// URL leads to the database.
func (p *Private) URL() string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", p.Address())
}

// Address is where the server listens.
func (p *Private) Address() string { return fmt.Sprintf("127.0.0.1:%d", p.port) }

func (p *Private) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.programs, program), args...) //nolint:noctx // Kill ends it
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Start starts the server over what it left, and returns when it answers. One that was
// killed a moment ago has children that are still to end: it is started again until then.
func (p *Private) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	var output bytes.Buffer
	for {
		if p.cmd == nil {
			output.Reset()
			if err := p.launch(&output); err != nil {
				return fmt.Errorf("start PostgreSQL: %w", err)
			}
		}
		err := run(ctx, p.URL(), "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			p.cmd = nil
		default:
		}
		select {
		case <-ctx.Done():
			p.Kill()
			return fmt.Errorf("start PostgreSQL: %w: %s", err, output.String())
		case <-ticker.C:
		}
	}
}

func (p *Private) launch(output *bytes.Buffer) error {
	p.cmd = p.command("postgres", "-D", p.data(), "-k", p.dir, "-p", strconv.Itoa(p.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=200", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "autovacuum_naptime=10")
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.ended = make(chan struct{})
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return err
	}
	go func(cmd *exec.Cmd, ended chan struct{}) { // ends with the server, for which Kill waits
		defer close(ended)
		_ = cmd.Wait() // it is killed, or tells why in its output
	}(p.cmd, p.ended)
	return nil
}

// Kill ends the server as a crash does: its memory is gone, and its children end when they
// notice. It does nothing to one that does not run.
func (p *Private) Kill() {
	if p.cmd == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.ended
	p.cmd = nil
}

// Stop stops the server and its children in their tracks: its connections stay and nothing
// answers.
func (p *Private) Stop() { p.signal(syscall.SIGSTOP) }

// Continue wakes a server that was stopped.
func (p *Private) Continue() { p.signal(syscall.SIGCONT) }

// signal sends a signal to the server, which then makes no further children when it is
// stopped or killed by it, and to its children.
func (p *Private) signal(s syscall.Signal) {
	pid := p.cmd.Process.Pid
	_ = p.cmd.Process.Signal(syscall.SIGSTOP) // it may have ended
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err == nil {
		for _, child := range strings.Fields(string(children)) {
			if n, err := strconv.Atoi(child); err == nil {
				_ = syscall.Kill(n, s) // it may have ended
			}
		}
	}
	_ = p.cmd.Process.Signal(s)
}
