package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestPausedWorkers: workers that are stopped amid their work, the one that seals among
// them, are taken over, and change nothing when they wake after others did their work and
// more. It lasts as long as an unanswered delivery does.
func TestPausedWorkers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, direct())
	write := func(round int) {
		t.Helper()
		for i := range 200 {
			text := fmt.Sprintf("package p\n\n// Beast%d of round %d.\nfunc Beast%d() int { return %d }\n", i, round, i, round)
			if err := os.WriteFile(filepath.Join(f.tree, fmt.Sprintf("beast%03d.go", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(0)
	f.settle("at first")
	paused := f.workers[:2]
	for round := 1; round <= 2; round++ {
		write(round)
		f.wait(time.Duration(round) * 200 * time.Millisecond) // they are amid it
		for _, w := range paused {
			w.signal(t, syscall.SIGSTOP)
		}
		f.settle(fmt.Sprintf("round %d, without them", round))
		write(round + 10)
		f.settle(fmt.Sprintf("round %d, beyond what they had in hand", round))
		for _, w := range paused {
			w.signal(t, syscall.SIGCONT)
		}
		f.wait(2 * time.Second) // what they had in hand is done, too late
		f.settle(fmt.Sprintf("round %d, awake", round))
		for _, w := range f.workers {
			if w.ended() {
				t.Errorf("%s ended by itself", w.name)
			}
		}
	}
}
