package socket

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
)

// actAs names the socket to which a process of another user is to connect, or on which it is
// to listen.
const actAs = "FRESHET_TEST_PEER"

func TestMain(m *testing.M) {
	if how, path, ok := strings.Cut(os.Getenv(actAs), " "); ok {
		os.Exit(beForeign(how, path))
	}
	os.Exit(m.Run())
}

// beForeign is what this binary does as a process of another user.
func beForeign(how, path string) int {
	switch how {
	case "connect":
		conn, err := net.Dial("unix", path)
		if err != nil {
			return 3
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			return 0 // it hung up
		}
		return 4
	case "listen":
		l, err := net.Listen("unix", path)
		if err != nil {
			return 3
		}
		_, _ = os.Stdout.WriteString("listening\n")
		_, _ = l.Accept()
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the test is done
	}
	return 0
}

// TestSocketOfOthers: neither end of a data directory's socket trusts a process of another
// user, whatever lets that process reach it.
func TestSocketOfOthers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root starts processes of other users")
	}
	dir, err := os.MkdirTemp("/tmp", "peer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := dir + "/peer"
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(program, self, 0o755)); err != nil { //nolint:gosec // for the other user
		t.Fatal(err)
	}
	foreign := func(how, path string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = []string{actAs + "=" + how + " " + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		return cmd
	}
	home := dir + "/home"
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chmod(home, 0o755)); err != nil { //nolint:gosec // the other user is to get in
		t.Fatal(err)
	}
	s, err := Listen(t.Context(), home, "test", nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context()) }()
	if err := os.Chmod(Path(home), 0o777); err != nil { //nolint:gosec // the other user is to get in
		t.Fatal(err)
	}
	if out, err := foreign("connect", Path(home)).CombinedOutput(); err != nil {
		t.Errorf("a client of another user is served: %v: %s", err, out)
	}
	if err := errors.Join(s.Close(), <-served); err != nil {
		t.Error(err)
	}
	planted := dir + "/planted"
	if err := errors.Join(os.Mkdir(planted, 0o700), os.Chown(planted, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	host := foreign("listen", Path(planted))
	in, err := host.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(in.Close(), host.Wait()) }()
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(planted, 0, 0); err != nil { // the directory seems to be ours
		t.Fatal(err)
	}
	_, err = Call(t.Context(), planted, "test", "ready", nil, nil)
	var known *tool.Error
	if !errors.As(err, &known) || known.Code != tool.CodePermissionDenied || !strings.Contains(known.Message, "user 12345") {
		t.Errorf("a host of another user is trusted: %v", err)
	}
}
