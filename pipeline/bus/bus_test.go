package bus

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
)

func TestDamage(t *testing.T) {
	t.Parallel()
	healthy := func(change func(*State)) State {
		s := State{
			Incarnation: "i1", First: 10, Last: 100, Messages: 91,
			Consumers: map[string]ConsumerState{"chunk": {AckFloor: 90}, "embed": {AckFloor: 100}},
		}
		change(&s)
		return s
	}
	known := store.LogPosition{Incarnation: "i1", Sequence: 95}
	for _, c := range []struct {
		name  string
		known store.LogPosition
		state State
		want  string
	}{
		{"whole", known, healthy(func(*State) {}), ""},
		{"whole, and the store knows all of it", store.LogPosition{Incarnation: "i1", Sequence: 100}, healthy(func(*State) {}), ""},
		{"ahead of the store", store.LogPosition{Incarnation: "i1", Sequence: 3}, healthy(func(*State) {}), ""},
		{"nothing known", store.LogPosition{}, healthy(func(s *State) { s.Gap = true }), ""},
		{"nothing known, nothing there", store.LogPosition{}, State{}, ""},
		{"gone", known, State{}, "deleted"},
		{"another", known, healthy(func(s *State) { s.Incarnation = "i2" }), "recreated"},
		{"another that is shorter", known, healthy(func(s *State) { s.Incarnation, s.Last = "i2", 1 }), "recreated"},
		{"one message short", known, healthy(func(s *State) { s.Last = 94 }), "regressed"},
		{"empty", known, healthy(func(s *State) { s.First, s.Last, s.Messages = 0, 0, 0 }), "regressed"},
		{"short, with a gap", known, healthy(func(s *State) { s.Last, s.Gap = 94, true }), "regressed"},
		{"a gap", known, healthy(func(s *State) { s.Gap = true }), "gap"},
		{"a consumer beyond the end", known, healthy(func(s *State) {
			s.Consumers["chunk"] = ConsumerState{AckFloor: 101}
		}), "consumer_ahead"},
		{"no consumers", known, healthy(func(s *State) { s.Consumers = nil }), ""},
		{"everything purged", known, healthy(func(s *State) { s.First, s.Messages = 101, 0 }), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := Damage(c.known, c.state); got != c.want {
				t.Errorf("Damage(%+v, %+v) = %q, want %q", c.known, c.state, got, c.want)
			}
		})
	}
}

func TestFateOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for _, c := range []struct {
		name        string
		err         error
		tries       int
		want        Fate
		least, most time.Duration
	}{
		{"nil", nil, 1, Acknowledge, 0, 0},
		{"obsolete", ErrObsolete, 1, Acknowledge, 0, 0},
		{"obsolete, wrapped", fmt.Errorf("x: %w", ErrObsolete), 9, Acknowledge, 0, 0},
		{"drop", &Drop{cause}, 1, MoveToDeadLetters, 0, 0},
		{"drop, wrapped", fmt.Errorf("x: %w", &Drop{cause}), 1, MoveToDeadLetters, 0, 0},
		{"retry", &Retry{After: time.Hour, Err: cause}, 1, Redeliver, time.Hour, time.Hour},
		{"retry, wrapped", fmt.Errorf("x: %w", &Retry{After: time.Second, Err: cause}), 40, Redeliver, time.Second, time.Second},
		{"retry that names no time", &Retry{Err: cause}, 2, Redeliver, 150 * time.Millisecond, 200 * time.Millisecond},
		{"first error", cause, 1, Redeliver, 75 * time.Millisecond, 100 * time.Millisecond},
		{"second error", cause, 2, Redeliver, 150 * time.Millisecond, 200 * time.Millisecond},
		{"ninth error", cause, 9, Redeliver, 19200 * time.Millisecond, 25600 * time.Millisecond},
		{"tenth error", cause, 10, Redeliver, 22500 * time.Millisecond, 30 * time.Second},
		{"millionth error", cause, 1_000_000, Redeliver, 22500 * time.Millisecond, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for range 100 {
				fate, delay := FateOf(c.err, c.tries)
				if fate != c.want || delay < c.least || delay > c.most {
					t.Fatalf("FateOf(%v, %d) = %d, %s; want %d, %s to %s", c.err, c.tries, fate, delay, c.want, c.least, c.most)
				}
			}
		})
	}
}

func TestCheckConsumer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		consumer Consumer
		ok       bool
	}{
		{"plain", Consumer{Name: "chunk", Lanes: []Lane{LaneSync}}, true},
		{"all lanes", Consumer{Name: "a-b_9", Lanes: Lanes()}, true},
		{"no name", Consumer{Lanes: Lanes()}, false},
		{"a name with a dot", Consumer{Name: "a.b", Lanes: Lanes()}, false},
		{"a name in capitals", Consumer{Name: "A", Lanes: Lanes()}, false},
		{"a long name", Consumer{Name: strings.Repeat("a", 65), Lanes: Lanes()}, false},
		{"no lanes", Consumer{Name: "chunk"}, false},
		{"an unknown lane", Consumer{Name: "chunk", Lanes: []Lane{LaneSync, "bridge"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := CheckConsumer(c.consumer); (err == nil) != c.ok {
				t.Errorf("CheckConsumer(%+v) = %v", c.consumer, err)
			}
		})
	}
}

func TestErrorsUnwrap(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for _, err := range []error{&Retry{Err: cause}, &Drop{Err: cause}} {
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), "cause") {
			t.Errorf("%v hides its cause", err)
		}
	}
}
