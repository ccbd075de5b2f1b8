package natsbus_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
	"github.com/freshet/freshet/store"
)

// TestABusyLogIsWhole: while messages are published and acknowledged, the log never looks
// damaged: what is read of consumers is not newer than what is read of the log.
func TestABusyLogIsWhole(t *testing.T) {
	t.Parallel()
	b := open(t, natsbus.Options{Dir: t.TempDir(), RelaxedSync: true})
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	busy.Go(func() {
		c := bus.Consumer{Name: "w", Lanes: []bus.Lane{bus.LaneSync}, Workers: 4}
		if err := b.Consume(ctx, c, func(context.Context, bus.Delivery) error { return nil }); err != nil {
			t.Error(err)
		}
	})
	busy.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			m := bus.Message{Codebase: "a", Lane: bus.LaneSync, ID: fmt.Sprint(i), Data: []byte("x")}
			if _, err := b.Publish(t.Context(), []bus.Message{m}, nil); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for looks := range 500 {
		s, err := b.State(t.Context())
		must(t, err)
		if damage := bus.Damage(store.LogPosition{Incarnation: s.Incarnation}, s); damage != "" {
			t.Fatalf("look %d: %s: last %d, consumers %+v", looks, damage, s.Last, s.Consumers)
		}
	}
	stop()
	busy.Wait()
	must(t, b.Close())
}
