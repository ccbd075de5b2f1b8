package bustest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/pipeline/bus"
)

func publishTests() []test {
	return []test{
		{"Publish/ABatchIsWholeAndInOrder", batchIsWhole},
		{"Publish/GuardAcceptsTheLastSequenceOnly", guardAccepts},
		{"Publish/GuardRefusalLeavesNothing", guardLeavesNothing},
		{"Publish/NoLoserOfARaceIsAccepted", noAcceptedLoser},
		{"Publish/ARepeatSucceeds", repeatSucceeds},
		{"Publish/ARepeatInPartAddsTheRest", repeatInPart},
		{"Publish/AnABAEditIsNoRepeat", newIDIsNoRepeat},
		{"Publish/RefusesWhatNoBusPublishes", refuses},
		{"Publish/TooLargeIsNeverSentInPart", tooLarge},
		{"Publish/FullIsSaid", fullIsSaid},
		{"Publish/LargestBatchGoesThrough", largestBatch},
	}
}

func batchIsWhole(t *testing.T, s suite) {
	r := s.start(t)
	first := r.publish(messages("a", 1, 3)...)
	if last := r.publish(messages("b", 1, 66)...); last != first+66 {
		t.Errorf("66 messages after %d end at %d", first, last)
	}
	r.publish(messageOn("a", bus.LaneApply, 1))
	r.wantLog(append(append(messages("a", 1, 3), messages("b", 1, 66)...), messageOn("a", bus.LaneApply, 1))...)
	for i, m := range r.read(1, 0) {
		if m.Sequence != uint64(i+1) || m.At.IsZero() {
			t.Errorf("message %d has sequence %d and time %s", i, m.Sequence, m.At)
		}
	}
}

func guardAccepts(t *testing.T, s suite) {
	r := s.start(t)
	zero := uint64(0)
	for _, batch := range [][]bus.Message{messages("a", 1, 1), messages("a", 1, 3)} {
		wrong := uint64(7)
		if _, err := r.Publish(t.Context(), batch, &wrong); !errors.Is(err, bus.ErrGuard) {
			t.Errorf("guard 7 of an empty lane, %d messages: %v", len(batch), err)
		}
	}
	last, err := r.Publish(t.Context(), messages("a", 1, 2), &zero)
	r.must(err)
	// What others do on other lanes and codebases does not matter.
	r.publish(messageOn("a", bus.LaneApply, 1))
	r.publish(messages("b", 1, 2)...)
	if got := r.last("a", bus.LaneSync); got != last {
		t.Errorf("last of the lane is %d, published %d", got, last)
	}
	if _, err := r.Publish(t.Context(), messages("a", 3, 3), &zero); !errors.Is(err, bus.ErrGuard) {
		t.Errorf("guard 0 of a used lane: %v", err)
	}
	if last, err = r.Publish(t.Context(), messages("a", 3, 3), &last); err != nil {
		t.Errorf("right guard, one message: %v", err)
	}
	if _, err = r.Publish(t.Context(), messages("a", 4, 6), &last); err != nil {
		t.Errorf("right guard, three messages: %v", err)
	}
}

func guardLeavesNothing(t *testing.T, s suite) {
	r := s.start(t)
	first := r.publish(message("a", 1))
	r.publish(message("a", 2))
	if _, err := r.Publish(t.Context(), messages("a", 3, 9), &first); !errors.Is(err, bus.ErrGuard) {
		t.Errorf("outdated guard: %v", err)
	}
	r.wantLog(messages("a", 1, 2)...)
	// What was refused is no repeat when it comes again.
	last := r.last("a", bus.LaneSync)
	_, err := r.Publish(t.Context(), messages("a", 3, 9), &last)
	r.must(err)
	r.wantLog(messages("a", 1, 9)...)
}

// noAcceptedLoser lets publishers race; each writes down the guard it was accepted with.
func noAcceptedLoser(t *testing.T, s suite) {
	r := s.start(t)
	const publishers, each = 3, 25
	var wg sync.WaitGroup
	for p := range publishers {
		wg.Go(func() {
			for n := 0; n < each; {
				last, err := r.LastOf(context.Background(), "a", bus.LaneSync)
				if err != nil {
					t.Error(err)
					return
				}
				batch := make([]bus.Message, 1+n%3)
				for i := range batch {
					batch[i] = bus.Message{
						Codebase: "a", Lane: bus.LaneSync, ID: fmt.Sprintf("%d/%d/%d/%d", p, n, last, i),
						Data: strconv.AppendUint(nil, last+uint64(i), 10),
					}
				}
				switch _, err = r.Publish(context.Background(), batch, &last); {
				case err == nil:
					n++
				case !errors.Is(err, bus.ErrGuard):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	log := r.read(1, 0)
	want := 0
	for n := range each {
		want += publishers * (1 + n%3)
	}
	if len(log) != want {
		t.Errorf("%d messages, want %d", len(log), want)
	}
	before := uint64(0)
	for _, m := range log {
		if string(m.Data) != strconv.FormatUint(before, 10) {
			t.Fatalf("message %d was accepted after %d with guard %s", m.Sequence, before, m.Data)
		}
		before = m.Sequence
	}
}

func repeatSucceeds(t *testing.T, s suite) {
	r := s.start(t)
	zero := uint64(0)
	for _, c := range []struct {
		name  string
		batch []bus.Message
	}{{"one", messages("a", 1, 1)}, {"many", messages("b", 1, 5)}} {
		last, err := r.Publish(t.Context(), c.batch, &zero)
		r.must(err)
		r.publish(messageOn(c.batch[0].Codebase, bus.LaneChunk, 1))
		for _, guard := range []*uint64{nil, &zero, &last} {
			again, err := r.Publish(t.Context(), c.batch, guard)
			if err != nil || again != last {
				t.Errorf("repeat of %s: sequence %d, %v; want %d", c.name, again, err, last)
			}
		}
	}
	if n := r.state().Messages; n != 8 {
		t.Errorf("%d messages after repeats, want 8", n)
	}
}

func repeatInPart(t *testing.T, s suite) {
	r := s.start(t)
	r.publish(messages("a", 1, 3)...)
	last := r.last("a", bus.LaneSync)
	sequence, err := r.Publish(t.Context(), messages("a", 2, 6), &last)
	r.must(err)
	if sequence != last+3 {
		t.Errorf("the rest ends at %d, want %d", sequence, last+3)
	}
	r.wantLog(messages("a", 1, 6)...)
	// Only the guard can tell that a half repeat comes too late.
	if _, err := r.Publish(t.Context(), messages("a", 5, 9), &last); !errors.Is(err, bus.ErrGuard) {
		t.Errorf("half a repeat with an outdated guard: %v", err)
	}
	r.wantLog(messages("a", 1, 6)...)
}

func newIDIsNoRepeat(t *testing.T, s suite) {
	r := s.start(t)
	a, b, again := message("a", 1), message("a", 2), message("a", 3)
	again.Data = a.Data
	r.publish(a)
	r.publish(b)
	r.publish(again)
	r.wantLog(a, b, again)
}

func refuses(t *testing.T, s suite) {
	r := s.start(t)
	change := func(f func(*bus.Message)) []bus.Message {
		two := messages("a", 1, 2)
		f(&two[1])
		return two
	}
	for _, c := range []struct {
		name  string
		batch []bus.Message
	}{
		{"nothing", nil},
		{"two codebases", change(func(m *bus.Message) { m.Codebase = "b" })},
		{"two lanes", change(func(m *bus.Message) { m.Lane = bus.LaneApply })},
		{"a lane that is none", []bus.Message{{Codebase: "a", Lane: "bridge", ID: "1"}}},
		{"a codebase with a dot", []bus.Message{{Codebase: "a.b", Lane: bus.LaneSync, ID: "1"}}},
		{"a codebase with a star", []bus.Message{{Codebase: "*", Lane: bus.LaneSync, ID: "1"}}},
		{"no codebase", []bus.Message{{Lane: bus.LaneSync, ID: "1"}}},
		{"no id", change(func(m *bus.Message) { m.ID = "" })},
		{"an id of two lines", change(func(m *bus.Message) { m.ID = "a\r\nb: c" })},
		{"an id twice", change(func(m *bus.Message) { m.ID = "a/1/sync" })},
	} {
		if _, err := r.Publish(t.Context(), c.batch, nil); err == nil {
			t.Errorf("%s was published", c.name)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Publish(ended, messages("a", 1, 2), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("publish with an ended context: %v", err)
	}
	r.wantLog()
}

func tooLarge(t *testing.T, s suite) {
	r := s.start(t)
	huge := message("a", 2)
	huge.Data = make([]byte, bus.MaxMessage)
	_, err := r.Publish(t.Context(), []bus.Message{huge}, nil)
	r.wantError(err, bus.ErrTooLarge)
	_, err = r.Publish(t.Context(), []bus.Message{message("a", 1), huge, message("a", 3)}, nil)
	r.wantError(err, bus.ErrTooLarge)
	_, err = r.Publish(t.Context(), messages("a", 1, bus.MaxBatch+1), nil)
	r.wantError(err, bus.ErrTooLarge)
	r.wantLog()
	huge.Data = huge.Data[:bus.MaxMessage-len(huge.ID)]
	r.publish(huge)
	if got := r.read(1, 0); len(got) != 1 || len(got[0].Data) != len(huge.Data) {
		t.Errorf("a message of just the limit did not come back")
	}
}

func fullIsSaid(t *testing.T, s suite) {
	if s.features.Small == nil {
		t.Skip("the backend has no limit")
	}
	for _, size := range []int{1, 3} {
		r := &rig{t: t, Bus: s.features.Small(t)}
		t.Cleanup(r.close)
		var kept []string
		var err error
		for n := 0; n < 100*size && err == nil; n += size {
			batch := messages("a", n, n+size-1)
			for i := range batch {
				batch[i].Data = noise(4<<10, n+i) // a log may pack what repeats
			}
			if _, err = r.Publish(t.Context(), batch, nil); err == nil {
				for _, m := range batch {
					kept = append(kept, m.ID)
				}
			}
		}
		r.wantError(err, bus.ErrFull)
		var got []string
		for _, m := range r.read(1, 0) {
			got = append(got, m.ID)
		}
		if diff := cmp.Diff(kept, got); diff != "" {
			t.Errorf("batches of %d (-acknowledged +in the log):\n%s", size, diff)
		}
		if s := r.state(); s.Gap {
			t.Errorf("a refusal left a gap: %+v", s)
		}
		// Room that was made is used again.
		r.must(r.Purge(t.Context(), "a", 0))
		r.publish(messages("b", 1, size)...)
	}
}

func largestBatch(t *testing.T, s suite) {
	r := s.start(t)
	if last := r.publish(messages("a", 1, bus.MaxBatch)...); last != bus.MaxBatch {
		t.Errorf("the last of %d messages has sequence %d", bus.MaxBatch, last)
	}
	r.wantLog(messages("a", 1, bus.MaxBatch)...)
}

// noise is bytes that cannot be packed, other ones for each seed.
func noise(size, seed int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(data) // never fails
	return data
}
