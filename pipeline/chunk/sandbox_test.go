//go:build linux

package chunk

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// probedLayers is the environment variable of a probing child that names its layers.
const probedLayers = "CHUNK_TEST_LAYERS"

// probes are what a hostile content would make its parser do, each of which must fail.
func probes() map[string]func() error {
	parent := os.Getppid()
	return map[string]func() error{
		"open": func() error { _, err := os.Open("/etc/passwd"); return err },
		"list": func() error { _, err := os.ReadDir("/"); return err },
		"create": func() error {
			f, err := os.CreateTemp("/tmp", "chunk-cage")
			if err == nil {
				err = errors.Join(f.Close(), os.Remove(f.Name()))
			}
			return err
		},
		"connect": func() error { return connect() },
		"abstract socket": func() error {
			c, err := net.Dial("unix", "@chunk-cage-"+fmt.Sprint(parent))
			if err == nil {
				return c.Close()
			}
			return err
		},
		"datagram": func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0); return err },
		"exec":     func() error { return exec.Command("/bin/true").Run() },
		"execve":   func() error { return syscall.Exec("/does/not/matter", []string{"x"}, nil) },
		"fork": func() error {
			pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			if pid == 0 {
				syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
			return nil
		},
		"signal the parent": func() error { return unix.Kill(parent, 0) },
		"ptrace": func() error { // of nobody, as an attempt on a process would stop that
			_, _, errno := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, 0, 0, 0, 0, 0)
			if errno == unix.EPERM {
				return errno
			}
			return nil
		},
		"executable memory": func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
			return err
		},
		"limits of the parent": func() error { return unix.Prlimit(parent, unix.RLIMIT_CORE, nil, &unix.Rlimit{}) },
	}
}

// connect dials a listener of the parent, whose address stands in the environment.
func connect() error {
	c, err := net.Dial("tcp", os.Getenv("CHUNK_TEST_ADDRESS"))
	if err == nil {
		return c.Close()
	}
	return err
}

// probe confines this process by the layers named, tries everything on many threads, some
// of which are older than the confinement, and prints what succeeded.
func probe(names string) int {
	started, confined := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex // guards passed
	passed := map[string]bool{}
	attempt := func() {
		for name, try := range probes() {
			if err := try(); err == nil || errors.Is(err, unix.ENOENT) {
				mu.Lock()
				passed[name] = true
				mu.Unlock()
			}
		}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			runtime.LockOSThread()
			started <- struct{}{}
			<-confined
			attempt()
		})
	}
	for range 4 {
		<-started
	}
	var chosen []sandboxLayer
	for _, l := range sandboxLayers() {
		if names == "all" || slices.Contains(strings.Fields(names), l.name) {
			chosen = append(chosen, l)
		}
	}
	lacks := applySandbox(chosen)
	close(confined)
	group.Wait()
	attempt()
	out, err := json.Marshal(map[string]any{"passed": passed, "lacks": lacks, "env": os.Environ()})
	if err != nil {
		return 1
	}
	_, _ = os.Stdout.Write(out)
	return 0
}

type probed struct {
	Passed map[string]bool
	Lacks  []string
	Env    []string
}

func runProbe(t *testing.T, names string) probed {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	abstract, err := net.Listen("unix", "@chunk-cage-"+fmt.Sprint(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = abstract.Close() }()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = []string{childVerb + "=" + probing, probedLayers + "=" + names, "CHUNK_TEST_ADDRESS=" + listener.Addr().String()}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("probe %s: %v", names, err)
	}
	var p probed
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatalf("probe %s: %v of %q", names, err, out)
	}
	return p
}

// TestChildIsRefusedEverything starts a child that tries what a parser which was taken over
// would: all of it is refused, on every thread. The layers are also tried alone, so that
// none hides that another does nothing; without any, the attempts succeed.
func TestChildIsRefusedEverything(t *testing.T) {
	free := runProbe(t, "none")
	for _, name := range []string{"open", "list", "create", "connect", "abstract socket", "datagram", "exec", "execve", "fork", "signal the parent", "executable memory"} {
		if !free.Passed[name] {
			t.Errorf("%s fails without any layer: the probe shows nothing", name)
		}
	}
	all := runProbe(t, "all")
	if len(all.Passed) > 0 && len(all.Lacks) == 0 {
		t.Errorf("with every layer these succeed: %v", all.Passed)
	}
	for layer, refused := range map[string][]string{
		"landlock": {"open", "list", "create", "exec"},
		"seccomp":  {"open", "list", "create", "connect", "abstract socket", "datagram", "exec", "execve", "fork", "signal the parent", "ptrace", "executable memory", "limits of the parent"},
		"rlimits":  {"open", "list", "connect", "datagram"},
	} {
		p := runProbe(t, "no_new_privs "+layer)
		if len(p.Lacks) > 0 {
			t.Logf("%s is not to be had here: %v", layer, p.Lacks)
			continue
		}
		if version, err := llsyscall.LandlockGetABIVersion(); layer == "landlock" && err == nil && version >= landlockScopes {
			refused = append(refused, "connect", "abstract socket", "signal the parent")
		}
		for _, name := range refused {
			if p.Passed[name] {
				t.Errorf("%s alone lets pass: %s", layer, name)
			}
		}
	}
}

// TestChildHasNoEnvironment shows that the tokens and keys of this process reach no parser,
// nor do descriptors that it inherited.
func TestChildHasNoEnvironment(t *testing.T) {
	t.Setenv("FRESHET_TOKEN", "secret")
	t.Setenv("FRESHET_DATABASE_URL", "postgres://secret")
	inherited, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inherited.Close() }()
	if _, err := unix.FcntlInt(inherited.Fd(), unix.F_SETFD, 0); err != nil { // as if a parent had left it open
		t.Fatal(err)
	}
	p := newPool(t, honest, Options{Children: 1})
	c, err := startChild(p.opts.Command, p.opts.Env, p.opts.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	dir := fmt.Sprintf("/proc/%d", c.cmd.Process.Pid)
	env, err := os.ReadFile(dir + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{childEnv, childVerb + "=" + honest}
	if got := strings.Split(strings.TrimRight(string(env), "\x00"), "\x00"); !slices.Equal(got, want) {
		t.Errorf("the environment of a child is %q, want %q", got, want)
	}
	descriptors, err := os.ReadDir(dir + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors {
		if target, err := os.Readlink(dir + "/fd/" + d.Name()); err == nil && target == "/etc/passwd" {
			t.Error("a child holds a file that its parent inherited")
		}
	}
	if target, err := os.Readlink(dir + "/cwd"); err != nil || target != "/" {
		t.Errorf("a child works in %s, %v", target, err)
	}
	if status, err := os.ReadFile(dir + "/status"); err != nil || !strings.Contains(string(status), "NoNewPrivs:\t1") {
		t.Errorf("a child may gain privileges: %v", err)
	}
}

// TestChildNamesWhatItLacks confines with a layer that the kernel refuses: the child works
// all the same, and says what it lacks.
func TestChildNamesWhatItLacks(t *testing.T) {
	t.Parallel()
	p := newPool(t, lacking, Options{Children: 1})
	if _, err := p.Cut(t.Context(), "Go", []byte(goSource)); err != nil {
		t.Fatal(err)
	}
	c := <-p.slots
	p.slots <- c
	if want := []string{"landlock: the kernel has none"}; !slices.Equal(c.lacks, want) {
		t.Errorf("the child lacks %q, want %q", c.lacks, want)
	}
}
