package natsbus_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/pipeline/bus/natsserver/clustertest"
)

// TestManyOpenAtOnce opens the log of a tenant that has none from many processes at once:
// each gets it, and it is one log with one stream of dead letters.
func TestManyOpenAtOnce(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d servers", size), func(t *testing.T) {
			t.Parallel()
			nodes := clustertest.Start(t, size)
			for round := range 5 {
				o := natsbus.Options{URL: nodes.URL(), Tenant: fmt.Sprintf("t%d", round)}
				all := openTogether(t, o, 8)
				for i, state := range publishFromEach(t, all) {
					b := all[i]
					if state.Messages != uint64(i+1) || state.Gap {
						t.Errorf("round %d, process %d: %+v", round, i, state)
					}
					marks, err := b.Marks(t.Context())
					must(t, err)
					if marks.DeadLetters != 0 {
						t.Errorf("round %d, process %d: %+v", round, i, marks)
					}
					must(t, b.Close())
				}
			}
		})
	}
}

// openTogether opens one log many times at the same moment.
func openTogether(t *testing.T, o natsbus.Options, times int) []*natsbus.Bus {
	t.Helper()
	o.Log = testLog(t)
	all, errs := make([]*natsbus.Bus, times), make([]error, times)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range times {
		group.Go(func() {
			<-start
			all[i], errs[i] = natsbus.Open(t.Context(), o)
		})
	}
	close(start)
	group.Wait()
	must(t, errors.Join(errs...))
	return all
}

// publishFromEach has each publish a message to what has to be one log, and returns how the
// log was after each.
func publishFromEach(t *testing.T, all []*natsbus.Bus) (states []bus.State) {
	t.Helper()
	logs := map[string]bool{}
	for i, b := range all {
		publishBatch(t, b, "c", i, 1, 10)
		state, err := b.State(t.Context())
		must(t, err)
		logs[state.Incarnation] = true
		states = append(states, state)
	}
	if len(logs) != 1 {
		t.Errorf("%d logs", len(logs))
	}
	return states
}

// TestManyResetAtOnce makes a log anew from many processes at once: each goes on with the
// one that is there in the end.
func TestManyResetAtOnce(t *testing.T) {
	t.Parallel()
	nodes := clustertest.Start(t, 1)
	all := openTogether(t, natsbus.Options{URL: nodes.URL()}, 4)
	for range 5 {
		errs := make([]error, len(all))
		var group sync.WaitGroup
		for i, b := range all {
			group.Go(func() { _, errs[i] = b.Reset(t.Context()) })
		}
		group.Wait()
		must(t, errors.Join(errs...))
		publishFromEach(t, all)
	}
	for _, b := range all {
		must(t, b.Close())
	}
}
