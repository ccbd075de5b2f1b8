package bustest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
)

// longHandler holds a message for twice AckWait: heartbeats keep it. AckWait is long enough
// for a heartbeat to be in time on a busy machine.
func longHandler(t *testing.T, s suite) {
	r := s.start(t)
	c := worker("w", 2)
	c.AckWait = 4 * time.Second
	var runs atomic.Int32
	done := make(chan error, 8)
	r.publish(message("a", 1))
	r.consume(c, func(ctx context.Context, _ bus.Delivery) error {
		runs.Add(1)
		timer := time.NewTimer(2 * c.AckWait)
		defer timer.Stop()
		<-timer.C
		done <- ctx.Err()
		return nil
	})
	if err := await(t, done, "the handler"); err != nil {
		t.Errorf("its context ended meanwhile: %v", err)
	}
	r.until("it to be acknowledged", func(s bus.State) bool { return s.Consumers["w"].AckFloor == 1 })
	nothing(t, done, c.AckWait/4, "a second run")
	if runs.Load() != 1 {
		t.Errorf("%d runs", runs.Load())
	}
}

func endsWithContext(t *testing.T, s suite) {
	r := s.start(t)
	var inside atomic.Int32
	entered := make(chan struct{}, 2)
	r.publish(messages("a", 1, 2)...)
	stop := r.consume(worker("w", 2), func(ctx context.Context, _ bus.Delivery) error {
		inside.Add(1)
		defer inside.Add(-1)
		entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	await(t, entered, "a handler")
	await(t, entered, "a handler")
	if err := stop(); err != nil {
		t.Errorf("Consume returned %v after its context ended, want nil", err)
	}
	if inside.Load() != 0 {
		t.Errorf("Consume returned with %d handlers inside", inside.Load())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Consume(ended, worker("w", 1), nil); err != nil {
		t.Errorf("Consume with an ended context returned %v, want nil", err)
	}
}

// cutOff ends a consumer in the middle of a message: the next has it at once, and what
// the handler finished nevertheless is not delivered again.
func cutOff(t *testing.T, s suite) {
	r := s.start(t)
	entered := make(chan struct{}, 2)
	r.publish(messages("a", 1, 2)...)
	stop := r.consume(worker("w", 2), func(ctx context.Context, d bus.Delivery) error {
		entered <- struct{}{}
		<-ctx.Done()
		if d.Sequence == 1 {
			return nil // committed just before the end
		}
		return ctx.Err()
	})
	await(t, entered, "a handler")
	await(t, entered, "a handler")
	r.must(stop())
	got, handle := collect()
	r.consume(worker("w", 1), handle)
	if d := await(t, got, "what was cut off"); d.Sequence != 2 || d.Tries < 2 {
		t.Errorf("got message %d, try %d; want 2 again", d.Sequence, d.Tries)
	}
	nothing(t, got, 50*time.Millisecond, "a delivery more")
}

// stopped stops a consumer in the middle of a message, which it may finish, and takes no
// other.
func stopped(t *testing.T, s suite) {
	r := s.start(t)
	r.publish(messages("a", 1, 2)...)
	c := worker("w", 1)
	stop, entered, open := make(chan struct{}), make(chan struct{}, 2), make(chan struct{})
	c.Stop = stop
	ended := make(chan error, 1)
	var cut error
	go func() {
		ended <- r.Consume(t.Context(), c, func(ctx context.Context, _ bus.Delivery) error {
			entered <- struct{}{}
			<-open
			cut = ctx.Err()
			return nil
		})
	}()
	await(t, entered, "the handler")
	close(stop)
	time.Sleep(50 * time.Millisecond) // a handler that is cut off is so by now
	close(open)
	if err := await(t, ended, "Consume to return"); err != nil || cut != nil {
		t.Errorf("Consume returned %v after it was stopped, and its handler was cut off by %v, want nil", err, cut)
	}
	if len(entered) > 0 {
		t.Error("a message was taken after the stop")
	}
	if !c.Stopped() {
		t.Error("the consumer does not say that it is stopped")
	}
	if err := r.Consume(t.Context(), c, func(context.Context, bus.Delivery) error { t.Error("a message was taken after the stop"); return nil }); err != nil {
		t.Errorf("a call after the stop: %v", err)
	}
	got, handle := collect()
	r.consume(worker("w", 1), handle)
	if d := await(t, got, "the other message"); d.Sequence != 2 {
		t.Errorf("message %d comes, want 2: the first was finished", d.Sequence)
	}
}
