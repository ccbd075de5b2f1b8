package bustest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

func logTests() []test {
	return []test{
		{"Log/StateCounts", stateCounts},
		{"Log/ReadGivesARange", readRange},
		{"Log/FollowGivesWhatIsAndWhatComes", follow},
		{"Log/PurgeTakesOneCodebaseBelowASequence", purge},
		{"Log/PurgeLeavesConsumersRunning", purgeAndConsume},
		{"Log/ResetBeginsAnew", reset},
		{"Log/ResetTakesDeliveriesAway", resetTakesAway},
	}
}

func stateCounts(t *testing.T, s suite) {
	r := s.start(t)
	empty := r.state()
	if empty.Incarnation == "" || empty.Last != 0 || empty.Messages != 0 || empty.Gap || len(empty.Consumers) != 0 {
		t.Errorf("an empty log: %+v", empty)
	}
	r.publish(messages("a", 1, 3)...)
	r.publish(messages("b", 1, 2)...)
	entered, leave := make(chan struct{}, 8), make(chan struct{})
	r.consume(worker("w", 2), func(context.Context, bus.Delivery) error {
		entered <- struct{}{}
		<-leave
		return nil
	})
	release := sync.OnceFunc(func() { close(leave) })
	t.Cleanup(release)
	await(t, entered, "a handler")
	await(t, entered, "a handler")
	got := r.state()
	want := bus.State{
		Incarnation: empty.Incarnation, First: 1, Last: 5, Messages: 5,
		Consumers: map[string]bus.ConsumerState{"w": {Pending: 3, InFlight: 2}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(bus.State{}, "Bytes")); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if got.Bytes == 0 {
		t.Error("no bytes")
	}
	release()
	r.until("all to be acknowledged", func(s bus.State) bool {
		return s.Consumers["w"] == bus.ConsumerState{AckFloor: 5}
	})
}

func readRange(t *testing.T, s suite) {
	r := s.start(t)
	if got := r.read(1, 0); len(got) != 0 {
		t.Errorf("an empty log has %v", got)
	}
	r.publish(messages("a", 1, 10)...)
	for _, c := range []struct {
		from, to uint64
		want     []uint64
	}{
		{1, 3, []uint64{1, 2, 3}},
		{0, 2, []uint64{1, 2}},
		{9, 0, []uint64{9, 10}},
		{9, 99, []uint64{9, 10}},
		{4, 4, []uint64{4}},
		{5, 4, nil},
		{11, 0, nil},
		{11, 12, nil},
	} {
		var got []uint64
		for _, m := range r.read(c.from, c.to) {
			got = append(got, m.Sequence)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("read [%d, %d] (-want +got):\n%s", c.from, c.to, diff)
		}
	}
	stop := errors.New("enough")
	calls := 0
	err := r.Read(t.Context(), 1, 0, func(bus.Stored) error {
		if calls++; calls == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || calls != 3 {
		t.Errorf("an error of the function at the third call: %v after %d calls", err, calls)
	}
}

func follow(t *testing.T, s suite) {
	r := s.start(t)
	r.publish(messages("a", 1, 3)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got, done := make(chan bus.Stored, 64), make(chan error, 1)
	go func() {
		done <- r.Follow(ctx, 2, func(m bus.Stored) error {
			got <- m
			return nil
		})
	}()
	next := func(want bus.Message) {
		t.Helper()
		if diff := cmp.Diff(want, await(t, got, "a message").Message); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	next(message("a", 2))
	next(message("a", 3))
	r.publish(message("b", 1))
	next(message("b", 1))
	_, err := r.Reset(t.Context())
	r.must(err)
	r.publish(messages("c", 1, 2)...)
	next(message("c", 1))
	next(message("c", 2))
	cancel()
	if err := await(t, done, "Follow to return"); err != nil {
		t.Errorf("Follow returned %v after its context ended, want nil", err)
	}
	stop := errors.New("enough")
	if err := r.Follow(t.Context(), 1, func(bus.Stored) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the function: %v", err)
	}
}

func purge(t *testing.T, s suite) {
	r := s.start(t)
	r.publish(messages("a", 1, 3)...)           // 1-3
	r.publish(messages("b", 1, 3)...)           // 4-6
	r.publish(messageOn("a", bus.LaneApply, 9)) // 7
	r.publish(messages("a", 4, 5)...)           // 8-9
	r.wantHeld(map[store.CodebaseID]uint64{"a": 6, "b": 3})
	r.must(r.Purge(t.Context(), "a", 8))
	r.wantHeld(map[store.CodebaseID]uint64{"a": 2, "b": 3})
	r.wantLog(append(messages("b", 1, 3), messages("a", 4, 5)...)...)
	r.must(r.Purge(t.Context(), "nobody", 0))
	if s := r.state(); s.Gap || s.Last != 9 || s.First != 4 || s.Messages != 5 {
		t.Errorf("state after a purge: %+v", s)
	}
	r.must(r.Purge(t.Context(), "a", 0))
	r.must(r.Purge(t.Context(), "a", 0))
	r.wantLog(messages("b", 1, 3)...)
	if last := r.last("a", bus.LaneSync); last != 0 {
		t.Errorf("last of a purged lane is %d", last)
	}
	zero := uint64(0)
	last, err := r.Publish(t.Context(), messages("a", 6, 7), &zero)
	r.must(err)
	if last != 11 {
		t.Errorf("sequences go on at %d, want 11: none is used twice", last)
	}
	r.must(r.Purge(t.Context(), "b", 0))
	r.must(r.Purge(t.Context(), "a", 0))
	if s := r.state(); s.Gap || s.Last != 11 || s.Messages != 0 {
		t.Errorf("state after everything was purged: %+v", s)
	}
	if err := r.Purge(t.Context(), "a.>", 0); err == nil {
		t.Error("purged a codebase that is none")
	}
}

func purgeAndConsume(t *testing.T, s suite) {
	r := s.start(t)
	r.publish(messages("a", 1, 5)...)
	r.publish(messages("b", 1, 5)...)
	r.must(r.Purge(t.Context(), "a", 0))
	got, handle := collect()
	r.consume(worker("w", 2), handle)
	wantOnce(t, got, messages("b", 1, 5))
	r.publish(messages("a", 6, 8)...)
	wantOnce(t, got, messages("a", 6, 8))
	r.until("nothing to be left", func(s bus.State) bool {
		c := s.Consumers["w"]
		return c.Pending == 0 && c.InFlight == 0 && c.AckFloor == s.Last
	})
}

func reset(t *testing.T, s suite) {
	r := s.start(t)
	got, handle := collect()
	r.consume(worker("w", 2), handle)
	r.publish(messages("a", 1, 3)...)
	wantOnce(t, got, messages("a", 1, 3))
	before := r.state()
	seen := map[string]bool{before.Incarnation: true}
	for range 3 {
		after, err := r.Reset(t.Context())
		r.must(err)
		if seen[after.Incarnation] || after.Incarnation == "" || after.Last != 0 || after.Messages != 0 || after.Gap {
			t.Errorf("reset to %+v", after)
		}
		seen[after.Incarnation] = true
		zero := uint64(0)
		last, err := r.Publish(t.Context(), messages("a", 1, 3), &zero)
		r.must(err)
		if last != 3 {
			t.Errorf("sequences begin again: the third is %d", last)
		}
		wantOnce(t, got, messages("a", 1, 3))
	}
}

// resetTakesAway wants a handler of the old log to be told, and what it says of its
// message not to count for the message that has its sequence in the new one.
func resetTakesAway(t *testing.T, s suite) {
	r := s.start(t)
	entered, told := make(chan bus.Delivery, 8), make(chan struct{}, 8)
	r.publish(message("a", 1))
	r.consume(worker("w", 1), func(ctx context.Context, d bus.Delivery) error {
		if d.ID == message("a", 1).ID {
			entered <- d
			<-ctx.Done()
			told <- struct{}{}
			return nil
		}
		entered <- d
		return nil
	})
	await(t, entered, "the first handler")
	_, err := r.Reset(t.Context())
	r.must(err)
	await(t, told, "the end of the handler's context")
	r.publish(message("b", 1))
	if d := await(t, entered, "the new log's first message"); d.Sequence != 1 || d.ID != message("b", 1).ID || d.Tries != 1 {
		t.Errorf("delivered %+v", d)
	}
	r.until("it to be acknowledged", func(s bus.State) bool { return s.Consumers["w"].AckFloor == 1 })
}
