package bustest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/store"
)

func fateTests() []test {
	return []test{
		{"Fate/ErrorsComeBackWithGrowingDelay", growingDelay},
		{"Fate/RetryWaitsAsLongAsItSays", retryAfter},
		{"Fate/WhatWaitsHoldsUpNobody", holdsUpNobody},
		{"Fate/ObsoleteIsAcknowledgedAndCounted", obsolete},
		{"Fate/DropMakesADeadLetter", dropMakesLetter},
		{"Fate/TwoConsumersMakeOneDeadLetter", oneLetter},
		{"Fate/DeadLettersAreRetriedOrDropped", lettersSettled},
		{"Fate/DeadLettersSurviveReopening", lettersSurvive},
	}
}

type attempt struct {
	tries int
	at    time.Time
}

func growingDelay(t *testing.T, s suite) {
	r := s.start(t)
	attempts := make(chan attempt, 16)
	r.publish(message("a", 1))
	r.consume(worker("w", 2), func(_ context.Context, d bus.Delivery) error {
		attempts <- attempt{d.Tries, time.Now()}
		if d.Tries < 4 {
			return fmt.Errorf("try %d", d.Tries)
		}
		return nil
	})
	before := await(t, attempts, "the first delivery")
	least := 3 * bus.MinDelay / 4
	for try := 2; try <= 4; try++ {
		now := await(t, attempts, "a redelivery")
		if now.tries != try {
			t.Errorf("try %d, want %d", now.tries, try)
		}
		if gap := now.at.Sub(before.at); gap < least-5*time.Millisecond {
			t.Errorf("try %d came after %s, want at least %s", try, gap, least)
		}
		before, least = now, 2*least
	}
	r.until("it to be acknowledged", func(s bus.State) bool { return s.Consumers["w"].AckFloor == 1 })
	nothing(t, attempts, 20*time.Millisecond, "a delivery after it was acknowledged")
}

func retryAfter(t *testing.T, s suite) {
	r := s.start(t)
	const after = 700 * time.Millisecond
	attempts := make(chan attempt, 16)
	r.publish(message("a", 1))
	r.consume(worker("w", 1), func(_ context.Context, d bus.Delivery) error {
		attempts <- attempt{d.Tries, time.Now()}
		if d.Tries == 1 {
			return fmt.Errorf("embed: %w", &bus.Retry{After: after, Err: errors.New("provider is down")})
		}
		return nil
	})
	first := await(t, attempts, "the first delivery")
	second := await(t, attempts, "the redelivery")
	if gap := second.at.Sub(first.at); gap < after-5*time.Millisecond {
		t.Errorf("it came back after %s, want %s", gap, after)
	}
}

func holdsUpNobody(t *testing.T, s suite) {
	r := s.start(t)
	got := make(chan bus.Delivery, 64)
	r.publish(messages("a", 1, 30)...)
	r.consume(worker("w", 1), func(_ context.Context, d bus.Delivery) error {
		if d.Sequence == 1 {
			return &bus.Retry{After: time.Hour, Err: errors.New("later")}
		}
		got <- d
		return nil
	})
	wantOnce(t, got, messages("a", 2, 30))
	r.until("one to wait", func(s bus.State) bool {
		c := s.Consumers["w"]
		return c.AckFloor == 0 && c.InFlight == 1 && c.Pending == 0
	})
}

func obsolete(t *testing.T, s suite) {
	r := s.start(t)
	r.publish(messages("a", 1, 3)...)
	r.consume(worker("w", 1), func(_ context.Context, d bus.Delivery) error {
		if d.Sequence == 2 {
			return fmt.Errorf("snapshot 1: %w", bus.ErrObsolete)
		}
		return nil
	})
	r.until("all to be acknowledged, one as obsolete", func(s bus.State) bool {
		c := s.Consumers["w"]
		return c.AckFloor == 3 && c.InFlight == 0 && c.Obsolete == 1
	})
}

// bury publishes n messages and drops them all.
func (r *rig) bury(n int) {
	r.t.Helper()
	r.publish(messages("a", 1, n)...)
	stop := r.consume(worker("w", 1), func(_ context.Context, d bus.Delivery) error {
		return &bus.Drop{Err: fmt.Errorf("message %d\nis beyond help", d.Sequence)}
	})
	r.until("all to be buried", func(s bus.State) bool {
		c := s.Consumers["w"]
		return c.AckFloor == uint64(n) && c.InFlight == 0
	})
	r.must(stop())
}

func oneLetter(t *testing.T, s suite) {
	r := s.start(t)
	r.bury(2)
	stop := r.consume(worker("v", 1), func(_ context.Context, d bus.Delivery) error {
		return &bus.Drop{Err: fmt.Errorf("message %d is beyond help too", d.Sequence)}
	})
	r.until("all to be buried again", func(s bus.State) bool {
		c := s.Consumers["v"]
		return c.AckFloor == 2 && c.InFlight == 0
	})
	r.must(stop())
	letters := r.letters()
	if len(letters) != 2 || letters[0].Consumer != "w" || letters[0].Sequence != 1 || letters[1].Sequence != 2 {
		t.Errorf("dead letters: %+v", letters)
	}
}

func (r *rig) letters() []bus.DeadLetter {
	r.t.Helper()
	letters, err := r.DeadLetters(r.t.Context())
	r.must(err)
	return letters
}

func dropMakesLetter(t *testing.T, s suite) {
	r := s.start(t)
	if letters := r.letters(); len(letters) != 0 {
		t.Errorf("a new log has dead letters: %v", letters)
	}
	r.bury(3)
	var want []bus.DeadLetter
	for n := 1; n <= 3; n++ {
		want = append(want, bus.DeadLetter{
			Stored: bus.Stored{Message: message("a", n), Sequence: uint64(n)}, Consumer: "w",
		})
	}
	letters := r.letters()
	ignore := cmpopts.IgnoreFields(bus.DeadLetter{}, "Letter", "Reason")
	if diff := cmp.Diff(want, letters, ignore, cmpopts.IgnoreFields(bus.Stored{}, "At")); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	for i, l := range letters {
		if len(l.Reason) == 0 || l.At.IsZero() || (i > 0 && l.Letter <= letters[i-1].Letter) {
			t.Errorf("letter %d: %+v", i, l)
		}
	}
	// The log keeps the message.
	r.wantLog(messages("a", 1, 3)...)
}

func lettersSettled(t *testing.T, s suite) {
	r := s.start(t)
	r.bury(3)
	letters := r.letters()
	r.must(r.DropDeadLetter(t.Context(), letters[0].Letter))
	got, handle := collect()
	r.consume(worker("w", 1), handle)
	r.must(r.RetryDeadLetter(t.Context(), letters[1].Letter))
	d := await(t, got, "the message that is retried")
	if d.ID != message("a", 2).ID || string(d.Data) != string(message("a", 2).Data) || d.Sequence != 4 || d.Tries != 1 {
		t.Errorf("retried as %+v", d)
	}
	left := r.letters()
	if len(left) != 1 || left[0].Letter != letters[2].Letter {
		t.Errorf("letters left: %+v", left)
	}
	for _, gone := range []uint64{letters[0].Letter, letters[1].Letter, 999} {
		r.wantError(r.RetryDeadLetter(t.Context(), gone), store.ErrNotFound)
		r.wantError(r.DropDeadLetter(t.Context(), gone), store.ErrNotFound)
	}
	if s := r.state(); s.Gap || s.Last != 4 {
		t.Errorf("state after settling: %+v", s)
	}
}

func lettersSurvive(t *testing.T, s suite) {
	if s.features.Place == nil {
		t.Skip("the log forgets")
	}
	open := s.features.Place(t)
	first := &rig{t: t, Bus: open()}
	first.bury(2)
	before := first.letters()
	first.close()
	second := &rig{t: t, Bus: open()}
	t.Cleanup(second.close)
	if diff := cmp.Diff(before, second.letters()); diff != "" {
		t.Errorf("letters (-before +after):\n%s", diff)
	}
}
