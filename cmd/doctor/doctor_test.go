package doctor

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet/freshet/cmd/datadir"
	"github.com/freshet/freshet/cmd/host"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/chunk"
)

func finding(t *testing.T, findings []tool.Finding, check string) tool.Finding {
	t.Helper()
	for _, f := range findings {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("no finding on %s among %v", check, findings)
	return tool.Finding{}
}

// asChild is the argument that has the test binary serve as a chunk child.
const asChild = "chunk-child"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asChild {
		if err := chunk.ServeChild(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDiagnose examines a data directory that is not made yet, one with a host, and ones
// that cannot be used.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "a", "home")
	for _, f := range Diagnose(t.Context(), Options{Home: home}, dir) {
		if f.Grade == tool.GradeBad {
			t.Errorf("before the first use: %+v", f)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Error("the examination made the data directory")
	}
	self, err := os.Executable()
	check(t, err)
	s, err := host.Connect(t.Context(), host.Options{Home: home, Version: "test", ChunkCommand: []string{self, asChild}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close session: %v", err)
		}
	})
	if f := finding(t, Diagnose(t.Context(), Options{Home: home, Version: "test"}, dir), "host"); f.Grade != tool.GradeGood || !strings.Contains(f.Detail, "answers") {
		t.Errorf("with a host: %+v", f)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := finding(t, Diagnose(t.Context(), Options{Home: file}, dir), "home"); f.Grade != tool.GradeBad || f.Advice == "" {
		t.Errorf("with a file in its place: %+v", f)
	}
}

// TestDiagnoseDeadHost meets a process that holds the lock and answers nothing.
func TestDiagnoseDeadHost(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	lock, err := datadir.Lock(home)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if f := finding(t, Diagnose(t.Context(), Options{Home: home}, home), "host"); f.Grade != tool.GradeBad {
		t.Errorf("%+v", f)
	}
}

func TestDiagnoseGit(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		files map[string]string
		grade tool.Grade
		want  string
	}{
		{"none", nil, tool.GradeGood, "no repository"},
		{"a branch", map[string]string{".git/HEAD": "ref: refs/heads/topic/x\n"}, tool.GradeGood, "at topic/x"},
		{"no branch", map[string]string{".git/HEAD": "0123456789abcdef\n"}, tool.GradeGood, "0123456789ab"},
		{"a rebase", map[string]string{".git/HEAD": "ref: refs/heads/x\n", ".git/rebase-merge/done": ""}, tool.GradePoor, "rebase"},
		{"a linked worktree", map[string]string{".git": "gitdir: elsewhere\n", "elsewhere/HEAD": "ref: refs/heads/w\n"}, tool.GradeGood, "at w"},
		{"a broken link", map[string]string{".git": "gitdir: nowhere\n"}, tool.GradePoor, "cannot be read"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			inside := filepath.Join(dir, "in", "side")
			if err := os.MkdirAll(inside, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range test.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if f := diagnoseGit(inside); f.Grade != test.grade || !strings.Contains(f.Detail, test.want) {
				t.Errorf("%+v, want %s with %q", f, test.grade, test.want)
			}
		})
	}
}

// TestListening finds a socket of this process.
func TestListening(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // a machine without that family
			continue
		}
		addresses, err := listening(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, a := range addresses {
			found = found || a.String() == listener.Addr().String()
		}
		if !found {
			t.Errorf("%s is not among %v", listener.Addr(), addresses)
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDiagnoseParsers starts a parser, and names what its confinement lacks or that none
// starts.
func TestDiagnoseParsers(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := finding(t, diagnoseParsers([]string{self, asChild}), "parsers")
	if lacks, err := chunk.Examine([]string{self, asChild}); err != nil || (len(lacks) == 0) != (f.Grade == tool.GradeGood) || f.Grade == tool.GradePoor && !strings.Contains(f.Detail, lacks[0]) {
		t.Errorf("the finding is %+v, the parser lacks %q, %v", f, lacks, err)
	}
	if f := finding(t, diagnoseParsers([]string{filepath.Join(t.TempDir(), "missing")}), "parsers"); f.Grade != tool.GradeBad || f.Advice == "" {
		t.Errorf("without a program: %+v", f)
	}
}
