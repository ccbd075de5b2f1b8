package simulation_test

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet/freshet/cmd/simulation"
)

var (
	seeds   = flag.Int("simulation.seeds", 0, "how many seeds TestSimulation runs; 0 means 200, with the race detector 60")
	first   = flag.Uint64("simulation.first", 1, "the first seed of TestSimulation")
	all     = flag.Bool("simulation.all", false, "go on after a seed that fails, and do not minimize")
	without = flag.String("simulation.without", "unreadable,log reset,log back,log cut", "kinds of operation that are left out, with commas between them")
	debug   = flag.Bool("simulation.debug", false, "log what the pipeline does")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stuck is after how much real time a history is taken for one that hangs: one takes
// milliseconds.
const stuck = 5 * time.Minute

// TestSimulation runs histories of edits and faults; see the package's documentation for
// what must hold. Run a seed alone with -simulation.first SEED -simulation.seeds 1.
func TestSimulation(t *testing.T) {
	t.Parallel()
	count := *seeds
	if count == 0 {
		count = 200
		if racing {
			count = 60
		}
	}
	began := time.Now()
	var next, failed atomic.Uint64
	t.Run("seeds", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for {
					n := next.Add(1) - 1
					if n >= uint64(count) || (failed.Load() > 0 && !*all) {
						return
					}
					if !holds(t, *first+n) {
						failed.Add(1)
					}
				}
			})
		}
	})
	t.Logf("%d seeds in %v, %d failed", count, time.Since(began).Round(time.Millisecond), failed.Load())
}

// holds runs one seed, and reports its shortest history when it fails.
func holds(t *testing.T, seed uint64) bool {
	watchdog := time.AfterFunc(stuck, func() {
		buffer := make([]byte, 1<<20)
		fmt.Fprintf(os.Stderr, "seed %d hangs\n%s\n", seed, buffer[:runtime.Stack(buffer, true)])
		os.Exit(2)
	})
	defer watchdog.Stop()
	var log *slog.Logger
	if *debug {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	operations := slices.DeleteFunc(simulation.Generate(seed), func(o simulation.Operation) bool {
		return slices.Contains(strings.Split(*without, ","), string(o.Kind))
	})
	outcome := simulation.Run(t, seed, operations, log)
	if outcome.Violation == nil {
		return true
	}
	if *all {
		t.Errorf("seed %d: %v", seed, outcome.Violation)
		return false
	}
	shortest := simulation.Minimize(operations, 300, func(candidate []simulation.Operation) bool {
		shorter := simulation.Run(t, seed, candidate, nil)
		if shorter.Violation == nil {
			return false
		}
		outcome = shorter
		return true
	})
	var lines strings.Builder
	for i, o := range shortest {
		fmt.Fprintf(&lines, "%3d %s\n", i, o)
	}
	t.Errorf("seed %d fails; %d of its %d operations are enough:\n%s%v\n%s",
		seed, len(shortest), len(operations), lines.String(), outcome.Violation, keep(t, seed, outcome.History))
	return false
}

// keep writes the history of a failure to a file that outlives the test.
func keep(t *testing.T, seed uint64, history []byte) string {
	t.Helper()
	if history == nil {
		return "store and log do not suffice for a history file"
	}
	name := filepath.Join(os.TempDir(), fmt.Sprintf("freshet-simulation-%d.jsonl", seed))
	if err := os.WriteFile(name, history, 0o600); err != nil {
		return err.Error()
	}
	return "what the store holds: freshet replay " + name
}

// TestMinimize finds the two operations of forty that fail together.
func TestMinimize(t *testing.T) {
	t.Parallel()
	var operations []simulation.Operation
	for i := range 40 {
		operations = append(operations, simulation.Operation{Wait: time.Second, Kind: simulation.Write, N: i})
	}
	has := func(list []simulation.Operation, n int) bool {
		return slices.ContainsFunc(list, func(o simulation.Operation) bool { return o.N == n })
	}
	shortest := simulation.Minimize(operations, 300, func(candidate []simulation.Operation) bool {
		return has(candidate, 7) && has(candidate, 31)
	})
	if len(shortest) != 2 || shortest[0].N != 7 || shortest[1].N != 31 || shortest[0].Wait != 0 {
		t.Errorf("the shortest is %v, want writes 7 and 31 without waits", shortest)
	}
}
