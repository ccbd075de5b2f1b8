package merklesync_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	merklesync "github.com/freshet/freshet/sync"
)

// git runs git in the tree under no configuration but this.
func (r *rig) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{
		"-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "gc.auto=0", "-c", "core.fsync=none",
	}, args...)...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// branches makes a repository whose branches differ in files and directories, two of each.
const branches = 5

func (r *rig) repository() {
	r.t.Helper()
	r.git("init", "-q", "-b", "main")
	for i := range 40 {
		r.write(fmt.Sprintf("d%d/e%d/f%d.go", i/10, i/5, i), fmt.Sprintf("package e // %d\n", i))
	}
	r.git("add", ".")
	r.git("commit", "-q", "-m", "first")
	for b := range branches {
		r.git("checkout", "-q", "-b", fmt.Sprintf("b%d", b), "main")
		for commit := range 2 {
			r.write(fmt.Sprintf("only%d/of/this%d.go", b, commit), fmt.Sprintf("package this // %d\n", b))
			r.write(fmt.Sprintf("d%d/e%d/f%d.go", b/2, b, b*5), fmt.Sprintf("package e // branch %d, %d\n", b, commit))
			r.must(os.RemoveAll(r.path(fmt.Sprintf("d3/e%d", 6+(b+commit)%2))))
			r.git("add", "-A")
			r.git("commit", "-q", "-m", fmt.Sprintf("commit %d of branch %d", commit, b))
		}
	}
}

// TestF6CheckoutsAndRebases switches and rebases branches of a real repository 200 times,
// and compares every check with a scan that knows nothing.
func TestF6CheckoutsAndRebases(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, memory(t), watching(t))
			r.repository()
			r.live()
			r.switchBranches(rand.New(rand.NewPCG(seed, 0)), 100)
			if status := r.sync.Watch(); status.State != merklesync.WatchLive || status.Missed > 0 {
				t.Fatalf("the watcher is %+v", status)
			}
		})
	}
}

func (r *rig) switchBranches(random *rand.Rand, rounds int) {
	r.t.Helper()
	for round := range rounds {
		switch branch := fmt.Sprintf("b%d", random.IntN(branches)); {
		case round%20 == 7:
			r.git("checkout", "-q", branch)
			r.git("rebase", "-q", "-X", "theirs", "--empty=drop", fmt.Sprintf("b%d", random.IntN(branches)))
		case round%10 == 3:
			r.git("reset", "-q", "--hard", branch)
		case round%10 == 5:
			r.write("d0/e0/f0.go", fmt.Sprintf("package e // stashed %d\n", round))
			r.git("stash", "-q")
			r.same("stashed")
			r.git("stash", "drop", "-q")
		default:
			r.git("checkout", "-q", branch)
		}
		r.same(fmt.Sprintf("round %d", round))
	}
}
