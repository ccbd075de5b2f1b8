package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var killRounds = flag.Int("kill.rounds", 12, "rounds of the kill loop")

// TestKillLoop kills the program with SIGKILL at random moments while a working tree walks
// through the history of a real repository, this one, with random edits in between; at the
// end the index must equal a clean build, to the digest.
func TestKillLoop(t *testing.T) {
	t.Parallel()
	repository, revisions := clonedHistory(t)
	p := program{t: t, home: filepath.Join(t.TempDir(), "home"), dir: repository}
	random := rand.New(rand.NewPCG(7, uint64(*killRounds)))
	started := time.Now()
	p.run(nil, "index")
	whole := time.Since(started) / 2 // about what a later run takes here, so that kills fall all over it
	killed := 0
	wanted := max(1, *killRounds/3)
	round := 0
	for ; round < *killRounds || killed < wanted && round < 10**killRounds; round++ {
		git(t, repository, "checkout", "--quiet", "--force", revisions[random.IntN(len(revisions))])
		scribble(t, repository, random, round)
		cmd := p.command("index", "--json")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		started = time.Now()
		go func() { ended <- cmd.Wait() }()
		timer := time.NewTimer(time.Duration(random.Int64N(int64(whole))))
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("round %d: index: %v", round, err)
			}
			whole = (whole + time.Since(started)) / 2
		case <-timer.C:
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				killed++
			}
		}
		timer.Stop()
	}
	t.Logf("killed %d of %d runs", killed, round)
	if killed < wanted {
		t.Errorf("only %d of %d runs were killed before their end: the loop proves little", killed, round)
	}
	var verified struct {
		Equal       bool              `json:"equal"`
		Differences []json.RawMessage `json:"differences"`
	}
	p.run(nil, "index")
	p.run(&verified, "verify")
	if !verified.Equal {
		t.Errorf("verify: %d differences from a rebuild, the first %s", len(verified.Differences), first(verified.Differences))
	}
	other := program{t: t, home: filepath.Join(t.TempDir(), "clean"), dir: repository}
	other.run(nil, "index")
	if got, want := exportDigest(p), exportDigest(other); got != want {
		t.Errorf("digest %s after the kill loop, a clean build has %s", got, want)
	}
}

func first(differences []json.RawMessage) string {
	if len(differences) == 0 {
		return "none"
	}
	return string(differences[0])
}

func exportDigest(p program) string {
	p.t.Helper()
	out, err := p.command("export", "--canonical").Output()
	if err != nil {
		p.t.Fatalf("export: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// clonedHistory clones two large parts of this repository, or where its history is not at
// hand makes one, and returns the working tree and its revisions.
func clonedHistory(t *testing.T) (dir string, revisions []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "repository")
	top, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(top, ".git")); err == nil {
		git(t, top, "clone", "--quiet", "--no-hardlinks", "--no-checkout", top, dir)
		git(t, dir, "sparse-checkout", "set", "pipeline", "store")
		git(t, dir, "checkout", "--quiet")
		if revisions = strings.Fields(git(t, dir, "log", "--format=%H", "-n", "40")); len(revisions) >= 10 {
			return dir, revisions
		}
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	} else {
		git(t, dir, "init", "--quiet")
	}
	random := rand.New(rand.NewPCG(11, 13))
	for commit := range 12 {
		for range 20 {
			path := filepath.Join(dir, fmt.Sprintf("made%d", random.IntN(6)), fmt.Sprintf("file%d.go", random.IntN(40)))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			source := fmt.Sprintf("package made\n\n// Value%d is of commit %d.\nfunc Value%d() int { return %d }\n", commit, commit, random.IntN(99), random.IntN(999))
			if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git(t, dir, "add", "--all")
		git(t, dir, "commit", "--quiet", "--message", fmt.Sprintf("commit %d", commit))
	}
	return dir, strings.Fields(git(t, dir, "log", "--format=%H"))
}

// scribble makes edits that no commit has.
func scribble(t *testing.T, dir string, random *rand.Rand, round int) {
	t.Helper()
	for i := range random.IntN(4) {
		path := filepath.Join(dir, fmt.Sprintf("scratch%d.py", i))
		if random.IntN(4) == 0 {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		source := fmt.Sprintf("def round_%d():\n    return %d\n", round, random.IntN(1000))
		if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
