package storetest

import (
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// testReopen writes one of everything and compares what two lives of the store say.
func testReopen(t *testing.T, e *env, f Features) {
	id := e.register("a")
	for i, text := range []string{"ab", "bc", "cd"} {
		o := e.opening(id, recipe("m1"), edit{put: map[string]string{"x": text, "y" + text: "y"}})
		o.Stats, o.Events = []store.StatEntry{{Path: "x", XX: uint64(i)}}, []store.OutboxEvent{event(id, o.Number, 0)}
		_, err := e.s.Open(e.ctx, o)
		e.ok(err)
		e.process(text)
		sid := e.segment(id, 2, "segment "+text)
		e.ok(e.s.Seal(e.ctx, store.Seal{
			Codebase: id, Number: o.Number, Level: store.LevelText, At: e.clock.now(),
			Segments: []store.SegmentID{sid}, Dead: map[store.SegmentID][]uint32{sid: {1}},
		}))
		e.seal(id, o.Number, sid)
		e.clock.advance(time.Second)
	}
	_, err := e.s.RecordFailure(e.ctx, store.Failure{Codebase: id, Path: "x", Stage: store.StageChunk, At: e.clock.now()}, true, nil)
	e.ok(err)
	e.ok(e.s.MarkPublished(e.ctx, []store.OutboxEvent{event(id, 1, 0)}, store.LogPosition{Incarnation: "i", Sequence: 9}))
	e.ok(e.s.SetCurrent(e.ctx, id, 2))
	e.ok(e.s.SetPinned(e.ctx, id, 1, true))
	universe := universe{texts: []string{"ab", "bc", "cd", "y"}, models: []string{"m1"}, chunks: "abcd"}
	before, err := read(e.ctx, e.s, universe, nil)
	e.ok(err)
	epoch := e.s.Epoch()
	for range 2 {
		e.s = f.Reopen(t, e.s, e.clock.now)
		after, err := read(e.ctx, e.s, universe, nil)
		e.ok(err)
		e.same("store of another life", after, before)
		e.same("epoch", e.s.Epoch(), epoch)
		e.ok(e.s.Check(e.ctx))
	}
	data, err := e.s.Content(e.ctx, hashOf("ab"))
	e.ok(err)
	e.same("content", string(data), "ab")
	old := e.segment(id, 1, "new")
	if _, err := e.s.HasContents(e.ctx, []merkle.Hash{hashOf("ab")}); err != nil || old <= 3 {
		t.Fatalf("segment id %d was given out twice (%v)", old, err)
	}
}
