package bustest

import (
	"context"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
)

func endTests() []test {
	return []test{
		{"Close/MayBeCalledTwice", closeTwice},
		{"Close/EndsConsumersAndFollowers", closeEnds},
	}
}

func closeTwice(t *testing.T, s suite) {
	r := s.start(t)
	r.publish(messages("a", 1, 2)...)
	r.must(r.Close())
	r.must(r.Close())
	ctx := t.Context()
	none := func(bus.Stored) error { return nil }
	for name, call := range map[string]func() error{
		"Publish":         func() error { _, err := r.Publish(ctx, messages("a", 3, 4), nil); return err },
		"LastOf":          func() error { _, err := r.LastOf(ctx, "a", bus.LaneSync); return err },
		"Consume":         func() error { return r.Consume(ctx, worker("w", 1), nil) },
		"State":           func() error { _, err := r.State(ctx); return err },
		"Held":            func() error { _, err := r.MessageCounts(ctx); return err },
		"Read":            func() error { return r.Read(ctx, 1, 0, none) },
		"Follow":          func() error { return r.Follow(ctx, 1, none) },
		"Purge":           func() error { return r.Purge(ctx, "a", 0) },
		"Reset":           func() error { _, err := r.Reset(ctx); return err },
		"DeadLetters":     func() error { _, err := r.DeadLetters(ctx); return err },
		"RetryDeadLetter": func() error { return r.RetryDeadLetter(ctx, 1) },
		"DropDeadLetter":  func() error { return r.DropDeadLetter(ctx, 1) },
	} {
		t.Run(name, func(t *testing.T) { (&rig{t: t, Bus: r.Bus}).wantError(call(), bus.ErrClosed) })
	}
}

func closeEnds(t *testing.T, s suite) {
	r := s.start(t)
	r.publish(message("a", 1))
	entered, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	consumed, followed := make(chan error, 1), make(chan error, 1)
	go func() {
		consumed <- r.Consume(context.Background(), worker("w", 1), func(ctx context.Context, _ bus.Delivery) error {
			entered <- struct{}{}
			<-ctx.Done()
			timer := time.NewTimer(100 * time.Millisecond) // a handler may take its time to end
			defer timer.Stop()
			<-timer.C
			ended <- struct{}{}
			return ctx.Err()
		})
	}()
	reading := make(chan struct{}, 1)
	go func() {
		followed <- r.Follow(context.Background(), 1, func(bus.Stored) error {
			reading <- struct{}{}
			return nil
		})
	}()
	await(t, entered, "a handler")
	await(t, reading, "the follower")
	r.must(r.Close())
	select {
	case <-ended:
	default:
		t.Error("Close returned before the handler had ended")
	}
	r.wantError(await(t, consumed, "Consume to return"), bus.ErrClosed)
	r.wantError(await(t, followed, "Follow to return"), bus.ErrClosed)
}
