package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// asFreshet has the test binary behave as freshet itself, so that tests run and kill the
// real program in processes of its own.
const asFreshet = "FRESHET_TEST_AS_FRESHET"

func TestMain(m *testing.M) {
	if url := os.Getenv(asWorker); url != "" {
		os.Exit(workWithStub(url))
	}
	// A parser child has no environment to tell by.
	if os.Getenv(asFreshet) != "" || len(os.Args) > 1 && os.Args[1] == chunkChild {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"freshet": main})
}

// TestScripts runs the program as a user does, over real directories.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: commands(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("FRESHET_HOME", filepath.Join(env.WorkDir, ".data"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			env.Setenv("GORACE", os.Getenv("GORACE")) // see the Makefile
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				env.Setenv("GIT_"+who+"_NAME", "tester")
				env.Setenv("GIT_"+who+"_EMAIL", "tester@localhost")
			}
			return nil
		},
	})
}

// program is freshet in processes of its own over one data directory.
type program struct {
	t    *testing.T
	home string
	dir  string
}

func (p program) command(args ...string) *exec.Cmd {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), asFreshet+"=1", "FRESHET_HOME="+p.home)
	return cmd
}

// run runs freshet to its end and decodes its envelope into out, which may be nil.
func (p program) run(out any, args ...string) {
	p.t.Helper()
	cmd := p.command(append(args, "--json")...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("freshet %s: %v\n%s\n%s", strings.Join(args, " "), err, stderr.String(), stdout)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(stdout, out); err != nil {
		p.t.Fatalf("freshet %s: %v in %s", strings.Join(args, " "), err, stdout)
	}
}

// git runs git in a directory without any configuration but its own.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=tester", "GIT_AUTHOR_EMAIL=tester@localhost",
		"GIT_COMMITTER_NAME=tester", "GIT_COMMITTER_EMAIL=tester@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
