package sqlitestore

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/freshet/freshet/store"
)

const dirEnv = "FRESHET_STORE_TEST_DIR"

// childWrites makes snapshots in the directory given until it is killed, and prints each
// step after it was acknowledged.
func childWrites() {
	ctx := context.Background()
	s, err := Open(ctx, os.Getenv(dirEnv), Options{})
	if err == nil {
		_, err = s.Register(ctx, store.Codebase{ID: testCodebase, Root: "/a"})
	}
	for err == nil {
		var c store.Codebase
		if c, err = s.Codebase(ctx, testCodebase); err != nil {
			break
		}
		if c.Latest > c.Current {
			if err = s.Abandon(ctx, testCodebase, c.Latest); err != nil {
				break
			}
		}
		n := c.Latest + 1
		err = advance(ctx, s, n, func(step string) { fmt.Println(step, n) })
		if err == nil && n%7 == 0 {
			_, err = s.Collect(ctx, store.Retention{Keep: 4})
		}
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// TestKilledWhileWriting kills a writing process at random moments. What it acknowledged
// is there in the next life, whole.
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 15 {
		steps := writeAndKill(t, dir, 1+random.IntN(40))
		s, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		c, err := s.Codebase(t.Context(), testCodebase)
		if err != nil {
			t.Fatal(err)
		}
		if c.Current < steps["seal"] || c.Latest < steps["open"] {
			t.Fatalf("round %d: acknowledged %v, found %+v", round, steps, c)
		}
		if c.Current > 0 {
			if err := verifySnapshot(t.Context(), s, c.Current); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if n := steps["vectors"]; n > 0 {
			if err := verifyContent(t.Context(), s, n); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// writeAndKill runs a child until it acknowledged some steps, kills it at whatever it then
// does, and returns the number of the last snapshot by step acknowledged.
func writeAndKill(t *testing.T, dir string, lines int) map[string]uint64 {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"=write", dirEnv+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	steps := map[string]uint64{}
	scanner := bufio.NewScanner(out)
	for i := 0; scanner.Scan(); i++ {
		var step string
		var n uint64
		if _, err := fmt.Sscan(scanner.Text(), &step, &n); err != nil || step == "error" {
			t.Errorf("child: %s", strings.TrimSpace(scanner.Text()))
			break
		}
		steps[step] = n
		if i == lines {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil {
		t.Error("child ended by itself")
	}
	return steps
}
