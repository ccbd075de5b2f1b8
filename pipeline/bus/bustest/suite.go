// Package bustest defines what a correct event log does: every sentence of the contract in
// package bus has a test here, and every backend runs all of them.
//
//	func TestBus(t *testing.T) {
//		bustest.Run(t, func(t *testing.T) bus.Bus { return membus.New() }, bustest.Features{})
//	}
//
// Goroutines that a backend leaves behind are for its own TestMain to find.
package bustest

import (
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
)

// Features say what a backend can do beyond what all can.
type Features struct {
	// Place returns an opener that opens the same log each time, once the one before was
	// closed. nil means that the log forgets when it is closed.
	Place func(t *testing.T) (open func() bus.Bus)
	// Small opens a log that holds less than 128 KiB.
	Small func(t *testing.T) bus.Bus
	// Leases is set when a delivery whose handler is silent for AckWait goes to another.
	Leases bool
}

// Run runs the suite. open returns a new, empty log each time; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) bus.Bus, f Features) {
	t.Helper()
	s := suite{open: open, features: f}
	for _, group := range [][]test{publishTests(), consumeTests(), fateTests(), logTests(), endTests()} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, s)
			})
		}
	}
}

type suite struct {
	open     func(t *testing.T) bus.Bus
	features Features
}

type test struct {
	name string
	run  func(t *testing.T, s suite)
}

// deadline bounds every wait of the suite; nothing comes near it but a failure.
const deadline = 5 * time.Minute
