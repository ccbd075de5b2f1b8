package bustest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

func worker(name string, workers int, lanes ...bus.Lane) bus.Consumer {
	if len(lanes) == 0 {
		lanes = []bus.Lane{bus.LaneSync}
	}
	return bus.Consumer{Name: name, Lanes: lanes, Workers: workers}
}

// collect returns a handler that sends its deliveries on.
func collect() (<-chan bus.Delivery, bus.Handler) {
	got := make(chan bus.Delivery, 4*bus.MaxBatch)
	return got, func(_ context.Context, d bus.Delivery) error {
		got <- d
		return nil
	}
}

// wantOnce wants each message once, in any order, and no other.
func wantOnce(t *testing.T, got <-chan bus.Delivery, want []bus.Message) {
	t.Helper()
	var ids, wanted []string
	for _, m := range want {
		ids = append(ids, await(t, got, "a delivery").ID)
		wanted = append(wanted, m.ID)
	}
	slices.Sort(ids)
	slices.Sort(wanted)
	if diff := cmp.Diff(wanted, ids); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	nothing(t, got, 20*time.Millisecond, "a delivery more")
}

// rig is a log under test with what tests do to it.
type rig struct {
	t *testing.T
	bus.Bus
}

func (s suite) start(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, Bus: s.open(t)}
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	if err := r.Close(); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// message is the n-th message of a codebase's sync lane.
func message(id store.CodebaseID, n int) bus.Message { return messageOn(id, bus.LaneSync, n) }

func messageOn(id store.CodebaseID, lane bus.Lane, n int) bus.Message {
	return bus.Message{
		Codebase: id, Lane: lane, ID: fmt.Sprintf("%s/%d/%s", id, n, lane),
		Data: fmt.Appendf(nil, "%s %s %d", id, lane, n),
	}
}

func messages(id store.CodebaseID, from, to int) []bus.Message {
	var all []bus.Message
	for n := from; n <= to; n++ {
		all = append(all, message(id, n))
	}
	return all
}

// publish publishes without a guard and returns the last sequence.
func (r *rig) publish(all ...bus.Message) uint64 {
	r.t.Helper()
	sequence, err := r.Publish(r.t.Context(), all, nil)
	r.must(err)
	return sequence
}

func (r *rig) state() bus.State {
	r.t.Helper()
	s, err := r.State(r.t.Context())
	r.must(err)
	return s
}

func (r *rig) last(id store.CodebaseID, lane bus.Lane) uint64 {
	r.t.Helper()
	last, err := r.LastOf(r.t.Context(), id, lane)
	r.must(err)
	return last
}

// read returns the messages of a range.
func (r *rig) read(from, to uint64) []bus.Stored {
	r.t.Helper()
	var all []bus.Stored
	r.must(r.Read(r.t.Context(), from, to, func(s bus.Stored) error {
		all = append(all, s)
		return nil
	}))
	return all
}

// wantHeld compares how many messages there are of each codebase.
func (r *rig) wantHeld(want map[store.CodebaseID]uint64) {
	r.t.Helper()
	held, err := r.MessageCounts(r.t.Context())
	r.must(err)
	if diff := cmp.Diff(want, held); diff != "" {
		r.t.Errorf("messages by codebase (-want +got):\n%s", diff)
	}
}

// wantLog compares the whole log with messages, sequences apart.
func (r *rig) wantLog(want ...bus.Message) {
	r.t.Helper()
	var got []bus.Message
	for _, s := range r.read(1, 0) {
		got = append(got, s.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("the log (-want +got):\n%s", diff)
	}
}

func (r *rig) wantError(err, want error) {
	r.t.Helper()
	if !errors.Is(err, want) {
		r.t.Errorf("got error %v, want %v", err, want)
	}
}

// consume runs Consume until the test ends or stop is called; stop returns its error.
func (r *rig) consume(c bus.Consumer, h bus.Handler) (stop func() error) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Consume(ctx, c, h) }()
	var err error
	ended := false
	stop = func() error {
		cancel()
		if !ended {
			err, ended = await(r.t, done, "Consume to return"), true
		}
		return err
	}
	r.t.Cleanup(func() {
		if err := stop(); err != nil && !errors.Is(err, bus.ErrClosed) {
			r.t.Errorf("consume: %v", err)
		}
	})
	return stop
}

// await receives within the deadline.
func await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	select {
	case v := <-from:
		return v
	case <-timer.C:
		t.Fatalf("waited %s for %s", deadline, what)
		panic("unreachable")
	}
}

// nothing wants no value for a while.
func nothing[T any](t *testing.T, from <-chan T, while time.Duration, what string) {
	t.Helper()
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case v := <-from:
		t.Errorf("%s: %v", what, v)
	case <-timer.C:
	}
}

// until asks again until the state is as wanted.
func (r *rig) until(what string, wanted func(bus.State) bool) {
	r.t.Helper()
	limit := time.NewTimer(deadline)
	defer limit.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		s := r.state()
		if wanted(s) {
			return
		}
		select {
		case <-limit.C:
			r.t.Fatalf("waited %s for %s; the state is %+v", deadline, what, s)
		case <-tick.C:
		}
	}
}
