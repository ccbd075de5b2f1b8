package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/bus"
	"github.com/freshet/freshet/pipeline/bus/membus"
	"github.com/freshet/freshet/pipeline/event"
	"github.com/freshet/freshet/pipeline/upkeep"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/memstore"
	"github.com/freshet/freshet/sync/merkle"
)

// house is a store and a log with the snapshots of some codebases in both.
type house struct {
	t     *testing.T
	store *memstore.Store
	log   *membus.Bus
}

func newHouse(t *testing.T) *house {
	h := &house{t, memstore.New(memstore.Options{}), membus.New()}
	t.Cleanup(func() { h.must(errors.Join(h.log.Close(), h.store.Close())) })
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// snapshots registers a codebase, seals so many snapshots of it, and publishes their events.
func (h *house) snapshots(id store.CodebaseID, n uint64) {
	h.t.Helper()
	ctx := h.t.Context()
	_, err := h.store.Register(ctx, store.Codebase{ID: id, Name: string(id), Root: "/" + string(id)})
	h.must(err)
	for number := uint64(1); number <= n; number++ {
		root := merkle.Hash{byte(number)}
		h.must(h.open(store.Opening{
			Codebase: id, Number: number, Parent: number - 1, Recipe: store.Recipe{Schema: 1}, Root: root, Rebuild: number == 1, At: began,
		}))
		h.must(h.store.Seal(ctx, store.Seal{Codebase: id, Number: number, Level: store.LevelFull, At: began}))
		header := event.Event{Codebase: id, Snapshot: number, Fingerprint: store.Recipe{Schema: 1}.Fingerprint(), At: began}
		h.publish(bus.LaneSync, event.Opening(header, event.Opened{Root: root, Recipe: store.Recipe{Schema: 1}}, nil, nil)...)
		h.publish(bus.LaneApply, event.SealedAt(header, event.Sealed{Root: root, Level: "full"}))
	}
}

func (h *house) open(o store.Opening) error {
	_, err := h.store.Open(h.t.Context(), o)
	return err
}

func (h *house) publish(lane bus.Lane, events ...event.Event) {
	h.t.Helper()
	for _, e := range events {
		data, err := event.Encode(e)
		h.must(err)
		_, err = h.log.Publish(h.t.Context(), []bus.Message{{Codebase: e.Codebase, Lane: lane, ID: e.ID(), Data: data}}, nil)
		h.must(err)
	}
}

func (h *house) wantHeld(want string) {
	h.t.Helper()
	held, err := h.log.MessageCounts(h.t.Context())
	h.must(err)
	if got := fmt.Sprint(held); got != want {
		h.t.Errorf("the log holds %s, want %s", got, want)
	}
}

// failing merges nothing in one codebase, and takes note of the others.
type failing struct {
	bad  store.CodebaseID
	seen chan store.CodebaseID
}

func (f failing) Compact(_ context.Context, id store.CodebaseID) (bool, error) {
	if id == f.bad {
		return false, errors.New("cannot be merged")
	}
	select {
	case f.seen <- id:
	default:
	}
	return false, nil
}

// month is the time after which only the newest twenty snapshots are retained.
func month() time.Time { return began.AddDate(0, 1, 0) }

// TestCut: what is behind the oldest retained snapshot leaves the log, of every codebase
// that has one; of the others, and of what is retained, nothing does.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, holder := range []string{"", "one of several"} {
		t.Run("holder "+holder, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			_, err := h.store.Register(t.Context(), store.Codebase{ID: "aempty", Name: "empty", Root: "/empty"})
			h.must(err)
			h.publish(bus.LaneSync, event.RegisteredCodebase(event.Event{Codebase: "aempty", At: began}, "empty", "/empty"))
			h.snapshots("bfew", 3)
			h.snapshots("cmany", 25)
			h.snapshots("dmany", 30)
			k := upkeep.New(h.store, h.log, nil, upkeep.Options{Holder: holder, Now: month})
			collected, err := k.Collect(t.Context(), true)
			h.must(err)
			h.wantHeld("map[aempty:1 bfew:6 cmany:50 dmany:60]")
			again, err := k.Collect(t.Context(), false)
			h.must(err)
			if collected.Snapshots != 15 || again.Snapshots != 15 {
				t.Errorf("collected %+v, then %+v, want 5 and 10 snapshots", collected, again)
			}
			h.must(k.Tidy(t.Context()))
			h.wantHeld("map[aempty:1 bfew:6 cmany:50 dmany:60]") // it is short
			h.must(k.Cut(t.Context()))
			h.wantHeld("map[aempty:1 bfew:6 cmany:40 dmany:40]")
			h.must(h.store.Clear(t.Context(), "cmany"))
			_, err = k.Collect(t.Context(), false)
			h.must(err)
			h.wantHeld("map[aempty:1 bfew:6 dmany:40]")
		})
	}
}

// TestEditsLeaveFewSnapshots: 2,094 edits of a working week leave snapshots and segments in
// a number that does not grow with them, although upkeep looks only now and then.
func TestEditsLeaveFewSnapshots(t *testing.T) {
	t.Parallel()
	now := began
	s := memstore.New(memstore.Options{Now: func() time.Time { return now }})
	log := membus.New()
	h := &house{t, s, log}
	t.Cleanup(func() { h.must(errors.Join(log.Close(), s.Close())) })
	k := upkeep.New(s, log, nil, upkeep.Options{Now: func() time.Time { return now }})
	_, err := s.Register(t.Context(), store.Codebase{ID: "a", Name: "a", Root: "/a"})
	h.must(err)
	for number := uint64(1); number <= 2094; number++ {
		now = now.Add(20 * time.Second)
		if number%700 == 0 {
			now = now.Add(12 * time.Hour) // the night
		}
		root := merkle.Hash{byte(number), byte(number >> 8)}
		h.must(h.open(store.Opening{
			Codebase: "a", Number: number, Parent: number - 1, Recipe: store.Recipe{Schema: 1}, Root: root, Rebuild: number == 1, At: now,
		}))
		segment, err := s.PutSegment(t.Context(), "a", 1, 1, []byte{byte(number)})
		h.must(err)
		h.must(s.Seal(t.Context(), store.Seal{Codebase: "a", Number: number, Level: store.LevelFull, At: now, Segments: []store.SegmentID{segment}}))
		if number%180 == 0 {
			_, err := k.Collect(t.Context(), false)
			h.must(err)
		}
	}
	count := func(what string, most int) {
		t.Helper()
		_, err := k.Collect(t.Context(), false)
		h.must(err)
		all, err := s.Snapshots(t.Context(), "a")
		h.must(err)
		usage, err := s.Usage(t.Context())
		h.must(err)
		if len(all) > most || usage.Segments > len(all) {
			t.Errorf("%s: %d snapshots and %d segments are left, want at most %d", what, len(all), usage.Segments, most)
		}
	}
	count("at once", 180+350)
	now = now.Add(2 * time.Hour)
	count("two hours later", 350)
	now = now.Add(3 * 24 * time.Hour)
	count("three days later", 20+4)
	now = now.Add(7 * 24 * time.Hour)
	count("a week later", 20)
}

// long is a log that says it has grown.
type long struct{ *membus.Bus }

func (l long) State(ctx context.Context) (bus.State, error) {
	state, err := l.Bus.State(ctx)
	state.Bytes += 1 << 30
	return state, err
}

// TestRun: segments are merged, whatever fails for one codebase, and a log that has grown
// is cut, without being asked.
func TestRun(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.snapshots("abad", 25)
	h.snapshots("bgood", 1)
	f := failing{"abad", make(chan store.CodebaseID, 1)}
	k := upkeep.New(h.store, long{h.log}, f, upkeep.Options{CompactEvery: time.Millisecond, TidyEvery: time.Millisecond, Now: month})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	if id := <-f.seen; id != "bgood" {
		t.Errorf("%s was merged", id)
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		held, err := h.log.MessageCounts(t.Context())
		h.must(err)
		if held["abad"] == 40 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the log holds %v", held)
		}
	}
	cancel()
	h.must(<-done)
}
