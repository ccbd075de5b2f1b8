package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/pipeline/bus"
)

func consumeTests() []test {
	return []test{
		{"Consume/HandsOutWhatWasPublished", handsOut},
		{"Consume/BodiesComeBackOnEveryWay", bodies},
		{"Consume/OnlyItsLanes", onlyItsLanes},
		{"Consume/EachNameGetsEverything", eachName},
		{"Consume/OneOfTwoCallsGetsAMessage", oneOfTwo},
		{"Consume/HandlersAreBoundedByWorkers", bounded},
		{"Consume/NothingIsHoarded", nothingHoarded},
		{"Consume/ALongHandlerRunsOnce", longHandler},
		{"Consume/EndsWithItsContext", endsWithContext},
		{"Consume/WhatWasCutOffIsNotLost", cutOff},
		{"Consume/StoppedFinishesWhatIsInHand", stopped},
		{"Consume/RefusesBadConsumers", badConsumers},
		{"Consume/SurvivesReopening", survivesReopening},
	}
}

func handsOut(t *testing.T, s suite) {
	r := s.start(t)
	r.publish(messages("a", 1, 2)...)
	got, handle := collect()
	r.consume(worker("w", 1), handle)
	for n := 1; n <= 4; n++ {
		if n == 3 {
			r.publish(messages("a", 3, 4)...) // a consumer that waits is woken
		}
		d := await(t, got, "a delivery")
		if d.At.IsZero() || time.Since(d.At).Abs() > time.Hour {
			t.Errorf("time %s", d.At)
		}
		d.At = time.Time{}
		want := bus.Delivery{Stored: bus.Stored{Message: message("a", n), Sequence: uint64(n)}, Tries: 1}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	r.until("all to be acknowledged", func(s bus.State) bool {
		c := s.Consumers["w"]
		return c.AckFloor == 4 && c.Pending == 0 && c.InFlight == 0
	})
}

// bodies sends bodies that compress and such that do not on every way a message can take.
func bodies(t *testing.T, s suite) {
	r := s.start(t)
	batch := messages("a", 1, 6)
	for i := range batch {
		batch[i].Data = make([]byte, []int{0, 511, 512, 4096, 65536, 200_000}[i])
		for j := range batch[i].Data {
			batch[i].Data[j] = byte(j * (1 + i%2*j*7))
		}
	}
	last := r.publish(batch...)
	if again := r.publish(batch...); again != last {
		t.Errorf("a repeat ends at %d, want %d", again, last)
	}
	var read []bus.Message
	for _, m := range r.read(1, 0) {
		read = append(read, m.Message)
	}
	got := make(chan bus.Delivery, 64)
	r.consume(worker("w", 1), func(_ context.Context, d bus.Delivery) error {
		got <- d
		if d.Sequence <= last {
			return &bus.Drop{Err: errors.New("to see it again")}
		}
		return nil
	})
	var delivered, lettered, retried []bus.Message
	for range batch {
		delivered = append(delivered, await(t, got, "a delivery").Message)
	}
	r.until("all to be buried", func(s bus.State) bool { return s.Consumers["w"].AckFloor == last })
	for _, l := range r.letters() {
		lettered = append(lettered, l.Message)
		r.must(r.RetryDeadLetter(t.Context(), l.Letter))
		retried = append(retried, await(t, got, "it again").Message)
	}
	for way, all := range map[string][]bus.Message{"read": read, "delivered": delivered, "lettered": lettered, "retried": retried} {
		if len(all) != len(batch) {
			t.Fatalf("%s: %d messages, want %d", way, len(all), len(batch))
		}
		for i, m := range all {
			if m.ID != batch[i].ID || !bytes.Equal(m.Data, batch[i].Data) {
				t.Errorf("%s: message %s with %d bytes is not what was published", way, m.ID, len(m.Data))
			}
		}
	}
}

func onlyItsLanes(t *testing.T, s suite) {
	r := s.start(t)
	for n := range 3 {
		for _, lane := range bus.Lanes() {
			r.publish(messageOn("a", lane, n))
		}
	}
	got, handle := collect()
	r.consume(worker("w", 1, bus.LaneChunk, bus.LaneApply), handle)
	for n := range 3 {
		for _, lane := range []bus.Lane{bus.LaneChunk, bus.LaneApply} {
			if d := await(t, got, "a delivery"); d.ID != messageOn("a", lane, n).ID {
				t.Errorf("got %s, want message %d of %s", d.ID, n, lane)
			}
		}
	}
	r.until("nothing to be left", func(s bus.State) bool { return s.Consumers["w"].Pending == 0 })
}

func eachName(t *testing.T, s suite) {
	r := s.start(t)
	r.publish(messages("a", 1, 20)...)
	for _, name := range []string{"one", "two"} {
		got, handle := collect()
		r.consume(worker(name, 2), handle)
		wantOnce(t, got, messages("a", 1, 20))
	}
}

func oneOfTwo(t *testing.T, s suite) {
	r := s.start(t)
	got, handle := collect()
	r.consume(worker("w", 2), handle)
	r.consume(worker("w", 2), handle)
	for n := range 10 {
		r.publish(messages("a", 10*n+1, 10*n+10)...)
	}
	wantOnce(t, got, messages("a", 1, 100))
}

func bounded(t *testing.T, s suite) {
	r := s.start(t)
	const workers, n = 3, 12
	var running, most atomic.Int32
	entered, leave := make(chan struct{}, n), make(chan struct{})
	release := sync.OnceFunc(func() { close(leave) })
	r.consume(worker("w", workers), func(context.Context, bus.Delivery) error {
		now := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		entered <- struct{}{}
		<-leave
		return nil
	})
	t.Cleanup(release)
	r.publish(messages("a", 1, n)...)
	for range workers {
		await(t, entered, "as many handlers as workers")
	}
	nothing(t, entered, 50*time.Millisecond, "a handler more than workers")
	release()
	for range n - workers {
		await(t, entered, "the other handlers")
	}
	if most.Load() != workers {
		t.Errorf("%d handlers at once, want %d", most.Load(), workers)
	}
}

// nothingHoarded wants a second consumer to get what the first has no worker for.
func nothingHoarded(t *testing.T, s suite) {
	r := s.start(t)
	entered, leave := make(chan struct{}, 8), make(chan struct{})
	r.publish(messages("a", 1, 5)...)
	r.consume(worker("w", 1), func(context.Context, bus.Delivery) error {
		entered <- struct{}{}
		<-leave
		return nil
	})
	t.Cleanup(func() { close(leave) })
	await(t, entered, "the first handler")
	got, handle := collect()
	r.consume(worker("w", 1), handle)
	wantOnce(t, got, messages("a", 2, 5))
}

func badConsumers(t *testing.T, s suite) {
	r := s.start(t)
	for _, c := range []bus.Consumer{
		{Lanes: []bus.Lane{bus.LaneSync}},
		{Name: "a.b", Lanes: []bus.Lane{bus.LaneSync}},
		{Name: "w"},
		{Name: "w", Lanes: []bus.Lane{"bridge"}},
	} {
		if err := r.Consume(t.Context(), c, nil); err == nil || errors.Is(err, bus.ErrClosed) {
			t.Errorf("consumer %+v: %v", c, err)
		}
	}
}

func survivesReopening(t *testing.T, s suite) {
	if s.features.Place == nil {
		t.Skip("the log forgets")
	}
	open := s.features.Place(t)
	first := &rig{t: t, Bus: open()}
	first.publish(messages("a", 1, 4)...)
	done := make(chan struct{}, 4)
	again := func() { // a try more, where the log is slow to say that the others are done
		select {
		case done <- struct{}{}:
		default:
		}
	}
	stop := first.consume(worker("w", 1), func(_ context.Context, d bus.Delivery) error {
		defer again()
		if d.Sequence == 2 {
			return &bus.Retry{After: time.Millisecond * 700, Err: fmt.Errorf("not now")}
		}
		return nil
	})
	for range 4 {
		await(t, done, "a delivery")
	}
	first.until("all but one to be acknowledged", func(s bus.State) bool {
		c := s.Consumers["w"]
		return c.InFlight == 1 && c.Pending == 0
	})
	first.must(stop())
	before := first.state()
	first.close()

	second := &rig{t: t, Bus: open()}
	t.Cleanup(second.close)
	after := second.state()
	if after.Incarnation != before.Incarnation || after.Last != before.Last || after.Messages != 4 || after.Gap {
		t.Errorf("reopened as %+v, closed as %+v", after, before)
	}
	second.wantLog(messages("a", 1, 4)...)
	if last := second.publish(messages("a", 2, 5)...); last != 5 {
		t.Errorf("the repeat after reopening ends at %d, want 5: ids are remembered", last)
	}
	got, handle := collect()
	second.consume(worker("w", 1), handle)
	seen := map[uint64]int{}
	for range 2 {
		d := await(t, got, "what was left")
		seen[d.Sequence] = d.Tries
	}
	if seen[2] < 2 || seen[5] != 1 || len(seen) != 2 {
		t.Errorf("deliveries by sequence and try %v, want 2 again and 5", seen)
	}
}
