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
	seeds   = flag.Int("simulation.seeds", 0, "how many seeds TestSimulation runs; 0 means 200, with the race detector 30")
	first   = flag.Uint64("simulation.first", 1, "the first seed of TestSimulation")
	all     = flag.Bool("simulation.all", false, "go on after a seed that fails, and do not minimize")
	without = flag.String("simulation.without", "", "kinds of operation that are left out, with commas between them")
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
			count = 30
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

// TestStoreBackUnderAnotherRecipe: an older copy of a store is put in its place after the
// recipe has changed, so that the log holds events of a recipe that no host here follows and
// the store has forgotten the snapshot of the new one. Work is made again without them.
func TestStoreBackUnderAnotherRecipe(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		var operations []simulation.Operation
		add := func(kind simulation.Kind, path string, n int) {
			wait := time.Duration(0)
			if seed%3 > 0 {
				wait = time.Duration(seed%7) * 100 * time.Millisecond
			}
			operations = append(operations, simulation.Operation{Wait: wait, Kind: kind, Path: path, N: n})
		}
		add(simulation.Search, "", 0)
		add(simulation.Write, "b.go", 13)
		add(simulation.Search, "", 0)
		add(simulation.Write, "g.py", 19)
		add(simulation.Search, "", 0)
		add(simulation.Recipe, "", 1)
		if seed%2 == 1 {
			add(simulation.Search, "", 0)
		}
		add(simulation.StoreBack, "", 1+int(seed%16))
		if outcome := simulation.Run(t, 2400+seed, operations, nil); outcome.Violation != nil {
			t.Errorf("seed %d, %d copies back: %v", 2400+seed, 1+seed%16, outcome.Violation)
		}
	}
}

// TestLogCutBetweenStages: the newest messages of the log are lost while one of two files of
// an event is done. The log begins anew with the work that is left, and the sealer does not
// wait for the event that the other file was named by.
func TestLogCutBetweenStages(t *testing.T) {
	t.Parallel()
	outcome := simulation.Run(t, 169, []simulation.Operation{
		{Kind: simulation.Write, Path: "dir/c.py", N: 12},
		{Kind: simulation.Ignore},
		{Kind: simulation.Search},
		{Kind: simulation.Write, Path: "other/f.txt", N: 13},
		{Kind: simulation.Ignore},
		{Kind: simulation.Search},
		{Kind: simulation.LogCut, N: 5},
	}, nil)
	if outcome.Violation != nil {
		t.Error(outcome.Violation)
	}
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
