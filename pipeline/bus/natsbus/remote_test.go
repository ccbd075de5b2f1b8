package natsbus_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/bustest"
	"github.com/freshet/freshet/pipeline/bus/natsbus"
)

// remoteServer starts a server elsewhere, as far as the bus can tell.
func remoteServer(t *testing.T) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		ServerName: "remote", Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true, JetStreamMaxStore: 1 << 40, MaxPayload: 1 << 20,
	})
	must(t, err)
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(5 * time.Minute) {
		t.Fatal("the server does not start")
	}
	return srv
}

// TestRemoteBus runs the suite over a server elsewhere, which the tenants share. Each of them
// has the permissions of docs/operations.md and no others.
func TestRemoteBus(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	srv := tenantServer(t, tenantsOf(t, names...))
	var tenants atomic.Int32
	tenant := func() natsbus.Options {
		name := names[tenants.Add(1)]
		return natsbus.Options{URL: tenantURL(srv, name), Tenant: name}
	}
	bustest.Run(t, func(t *testing.T) bus.Bus { return openTenant(t, tenant()) }, bustest.Features{
		Place: func(t *testing.T) func() bus.Bus {
			o := tenant()
			return func() bus.Bus { return openTenant(t, o) }
		},
		Small: func(t *testing.T) bus.Bus {
			o := tenant()
			o.MaxBytes = 100 << 10
			return openTenant(t, o)
		},
		Leases: true,
	})
}

// TestResetOn a remote server lets one process make the log anew under the consumer and the
// follower of another: both go on with the new log, under the one consumer it has, and
// what was still in hand does not count for the message that has its sequence now.
func TestResetElsewhere(t *testing.T) {
	t.Parallel()
	srv := remoteServer(t)
	here := open(t, natsbus.Options{URL: srv.ClientURL()})
	defer func() { must(t, here.Close()) }()
	there := open(t, natsbus.Options{URL: srv.ClientURL()})
	defer func() { must(t, there.Close()) }()

	got, leave, followed := make(chan bus.Delivery, 8), make(chan struct{}, 8), make(chan bus.Stored, 8)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 2)
	go func() {
		c := bus.Consumer{Name: "w", Lanes: []bus.Lane{bus.LaneSync}}
		done <- here.Consume(ctx, c, func(_ context.Context, d bus.Delivery) error {
			got <- d
			select {
			case <-leave:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	go func() {
		done <- here.Follow(ctx, 1, func(m bus.Stored) error {
			followed <- m
			return nil
		})
	}()
	publishBatch(t, there, "a", 0, 1, 10)
	if d := receive(t, got); d.ID != "a/0" {
		t.Fatalf("delivered %s", d.ID)
	}
	receive(t, followed)
	_, err := there.Reset(t.Context())
	must(t, err)
	publishBatch(t, there, "b", 0, 2, 10)
	leave <- struct{}{} // acknowledges message 1 of the log before
	if d := receive(t, got); d.ID != "b/0" || d.Sequence != 1 || d.Tries != 1 {
		t.Errorf("delivered %s as message %d, try %d", d.ID, d.Sequence, d.Tries)
	}
	state, err := there.State(t.Context())
	must(t, err)
	if c := state.Consumers["w"]; len(state.Consumers) != 1 || c.InFlight != 1 || c.AckFloor != 0 {
		t.Errorf("the new log: %+v", state)
	}
	for _, id := range []string{"b/0", "b/1"} {
		if m := receive(t, followed); m.ID != id {
			t.Errorf("followed to %s, want %s", m.ID, id)
		}
	}
	leave <- struct{}{}
	if d := receive(t, got); d.ID != "b/1" {
		t.Errorf("delivered %s", d.ID)
	}
	leave <- struct{}{}
	cancel()
	must(t, receive(t, done))
	must(t, receive(t, done))
}

// TestAckOfAnEarlierLogCountsForNothing acknowledges a message of a log that was made anew
// meanwhile, while another process holds the message that has its sequence now.
func TestAckOfAnEarlierLogCountsForNothing(t *testing.T) {
	t.Parallel()
	srv := remoteServer(t)
	here := open(t, natsbus.Options{URL: srv.ClientURL()})
	there := open(t, natsbus.Options{URL: srv.ClientURL()})
	c := bus.Consumer{Name: "w", Lanes: []bus.Lane{bus.LaneSync}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hold := func(b *natsbus.Bus) (entered <-chan bus.Delivery, leave chan<- struct{}, done <-chan error) {
		in, out, end := make(chan bus.Delivery, 8), make(chan struct{}, 8), make(chan error, 1)
		go func() {
			end <- b.Consume(ctx, c, func(_ context.Context, d bus.Delivery) error {
				in <- d
				select {
				case <-out:
				case <-ctx.Done():
				}
				return nil
			})
		}()
		return in, out, end
	}
	publishBatch(t, there, "a", 0, 1, 10)
	first, leave, firstDone := hold(here)
	receive(t, first)
	_, err := there.Reset(t.Context())
	must(t, err)
	publishBatch(t, there, "b", 0, 1, 10)
	second, _, secondDone := hold(there)
	if d := receive(t, second); d.ID != "b/0" || d.Sequence != 1 {
		t.Fatalf("delivered %+v", d)
	}
	leave <- struct{}{} // message 1 of the log before
	timer := time.NewTimer(200 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
	state, err := there.State(t.Context())
	must(t, err)
	if w := state.Consumers["w"]; w.InFlight != 1 || w.AckFloor != 0 {
		t.Errorf("the message that is held counts as done: %+v", state)
	}
	cancel()
	must(t, receive(t, firstDone))
	must(t, receive(t, secondDone))
	must(t, here.Close())
	must(t, there.Close())
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	timer := time.NewTimer(5 * time.Minute)
	defer timer.Stop()
	select {
	case v := <-from:
		return v
	case <-timer.C:
		t.Fatal("waited too long")
		panic("unreachable")
	}
}
