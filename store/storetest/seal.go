package storetest

import (
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// view reads a view's segments.
func (e *env) view(id store.CodebaseID, number uint64) []store.SegmentRef {
	e.t.Helper()
	v, err := e.s.View(e.ctx, id, number)
	e.ok(err)
	return v.Segments
}

func (e *env) current(id store.CodebaseID) uint64 {
	e.t.Helper()
	c, err := e.s.Codebase(e.ctx, id)
	e.ok(err)
	return c.Current
}

func testSealTextThenFull(t *testing.T, e *env) {
	id := e.register("a")
	n := e.open(id, edit{put: map[string]string{"x": "x"}})
	e.process("x")
	_, err := e.s.View(e.ctx, id, 1)
	e.is(err, store.ErrNoSnapshot)
	text, full := e.segment(id, 1, "text"), e.segment(id, 1, "full")
	seal := func(level store.Level, part uint32, ids ...store.SegmentID) {
		e.ok(e.s.Seal(e.ctx, store.Seal{
			Codebase: id, Number: 1, Level: level, At: e.clock.now(), Segments: ids, Events: []store.OutboxEvent{event(id, 1, part)},
		}))
	}
	seal(store.LevelText, 1, text)
	n.Level, n.SealedAt = store.LevelText, e.clock.now()
	want := store.View{Snapshot: n, Segments: []store.SegmentRef{{ID: text, Files: 1, Chunks: 2, Bytes: 4}}}
	got, err := e.s.View(e.ctx, id, 1)
	e.ok(err)
	e.same("text view", got, want)
	e.same("current", e.current(id), uint64(1))

	e.clock.advance(time.Minute)
	seal(store.LevelText, 2, full) // a level already reached changes nothing
	got, err = e.s.View(e.ctx, id, 1)
	e.ok(err)
	e.same("text view after a repeat", got, want)

	seal(store.LevelFull, 3, full, text)
	n.Level, n.SealedAt = store.LevelFull, e.clock.now()
	got, err = e.s.View(e.ctx, id, 1)
	e.ok(err)
	e.same("full view", got, store.View{Snapshot: n, Segments: []store.SegmentRef{
		{ID: full, Files: 1, Chunks: 2, Bytes: 4}, {ID: text, Files: 1, Chunks: 2, Bytes: 4},
	}})
	seal(store.LevelText, 4, text) // late
	again, err := e.s.View(e.ctx, id, 1)
	e.ok(err)
	e.same("full view after a late seal", again, got)
	events, err := e.s.Outbox(e.ctx, 10)
	e.ok(err)
	e.same("events of the seals that counted", events, []store.OutboxEvent{event(id, 1, 1), event(id, 1, 3)})
}

func testSealRefuses(t *testing.T, e *env) {
	id := e.register("a")
	e.open(id, edit{put: map[string]string{"x": "x"}})
	e.ok(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: 1, Level: store.LevelText}))
	e.ok(e.s.Abandon(e.ctx, id, 1))
	e.step(id, edit{})
	full := store.Seal{Codebase: id, Number: 1, Level: store.LevelFull}
	e.is(e.s.Seal(e.ctx, full), store.ErrConflict)
	e.same("current", e.current(id), uint64(2))
	for _, level := range []store.Level{store.LevelOpen, store.LevelFull + 1} {
		if err := e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: 2, Level: level}); err == nil {
			t.Errorf("sealed at level %d", level)
		}
	}
	e.ok(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: 2, Level: store.LevelFull}))
}

func testSealIsAtomic(t *testing.T, e *env) {
	id := e.register("a")
	e.open(id, edit{put: map[string]string{"x": "x"}})
	e.process("x")
	sid := e.segment(id, 2, "seg")
	seal := store.Seal{Codebase: id, Number: 1, Level: store.LevelFull, Segments: []store.SegmentID{sid}, Events: []store.OutboxEvent{event(id, 1, 0)}}
	bad := []func(s *store.Seal){
		func(s *store.Seal) { s.Segments = []store.SegmentID{sid, 999} },
		func(s *store.Seal) { s.Dead = map[store.SegmentID][]uint32{sid: {0}, 999: {0}} },
		func(s *store.Seal) { s.Dead = map[store.SegmentID][]uint32{sid: {0, 2}} },
	}
	for i, change := range bad {
		s := seal
		change(&s)
		if err := e.s.Seal(e.ctx, s); err == nil {
			t.Errorf("seal %d was taken", i)
		}
		_, err := e.s.View(e.ctx, id, 1)
		e.is(err, store.ErrNoSnapshot)
		e.same("current", e.current(id), uint64(0))
	}
	events, err := e.s.Outbox(e.ctx, 1)
	e.ok(err)
	e.same("events", events, nil)
	e.ok(e.s.Seal(e.ctx, seal))
	e.same("segments", e.view(id, 1), []store.SegmentRef{{ID: sid, Files: 2, Chunks: 4, Bytes: 3}})
}

// testSealIsConfirmed: a full seal is refused while a file of the snapshot is neither done
// nor parked, whatever the caller believes, and then nothing of it is seen. Pending, the
// standing of the file and the seal agree in every state that its rows can be in.
func testSealIsConfirmed(t *testing.T, e *env) {
	id := e.register("a")
	e.step(id, edit{put: map[string]string{"old": "old"}})
	n := e.open(id, edit{put: map[string]string{"x": "ab", "y": "cd"}})
	sid := e.segment(id, 2, "seg")
	k, embedding := key("ab"), recipe("m1").Embedding.Key()
	fail := func(stage store.Stage, version string, park bool) {
		_, err := e.s.RecordFailure(e.ctx, store.Failure{Codebase: id, Path: "x", Content: hashOf("ab"), Stage: stage, Version: version}, park, nil)
		e.ok(err)
	}
	agree := func(what string, want store.Standing) {
		t.Helper()
		f, err := e.s.File(e.ctx, id, 2, "x")
		e.ok(err)
		standing, err := store.StandingOf(e.ctx, e.s, id, f, recipe("m1"))
		e.ok(err)
		e.same("standing "+what, standing, want)
		var pending []string
		if !want.Settled() {
			pending = []string{"x " + string(want.Lacks)}
		}
		e.same("pending "+what, e.pending(id, 2, "m1"), pending)
		if want.Settled() {
			return
		}
		e.is(e.s.Seal(e.ctx, store.Seal{
			Codebase: id, Number: 2, Level: store.LevelFull, At: e.clock.now(), Segments: []store.SegmentID{sid},
			Dead: map[store.SegmentID][]uint32{sid: {0}}, Events: []store.OutboxEvent{event(id, 2, 9)},
		}), store.ErrIncomplete)
		got, err := e.s.Snapshot(e.ctx, id, 2)
		e.ok(err)
		e.same("snapshot "+what, got, n)
		e.same("current "+what, e.current(id), uint64(1))
		events, err := e.s.Outbox(e.ctx, 10)
		e.ok(err)
		e.same("events "+what, events, nil)
	}
	e.process("cd")
	chunk, embed := store.Standing{Lacks: store.StageChunk}, store.Standing{Lacks: store.StageEmbed}
	agree("when it was opened", chunk)
	fail(store.StageChunk, k.Version, false)
	agree("after a try", chunk)
	e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{{Key: k, Syntax: syntax("ab")}}))
	agree("with its syntax", embed)
	e.ok(e.s.PutVectors(e.ctx, embedding, vectors("a"), []store.SyntaxKey{k}))
	agree("with some of its vectors", embed)
	e.ok(e.s.PutVectors(e.ctx, "another", vectors("ab"), []store.SyntaxKey{k}))
	agree("with those of another model", embed)
	e.process("ab")
	agree("when it is done", store.Standing{})
	for range 2 {
		e.ok(e.s.DropSyntax(e.ctx, []store.SyntaxKey{k, key("never put")}))
	}
	agree("without its syntax", chunk)
	left, err := e.s.Vectors(e.ctx, embedding, []merkle.Hash{chunkHash('a'), chunkHash('b')})
	e.ok(err)
	e.same("vectors that are left", len(left), 2)
	fail(store.StageEmbed, embedding, true)
	agree("parked at another stage", chunk)
	e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{{Key: k, Syntax: syntax("ab")}}))
	agree("parked", store.Standing{Lacks: store.StageEmbed, Parked: true})
	_, err = e.s.ForgetFailures(e.ctx, id, "x")
	e.ok(err)
	agree("unparked", embed)
	e.ok(e.s.Forget(e.ctx, id, true))
	e.process("cd")
	agree("after all was forgotten", chunk)
	e.ok(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: 2, Level: store.LevelText, At: e.clock.now(), Segments: []store.SegmentID{sid}}))
	fail(store.StageChunk, k.Version, true)
	e.ok(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: 2, Level: store.LevelFull, At: e.clock.now(), Segments: []store.SegmentID{sid}}))
	e.same("current at last", e.current(id), uint64(2))
}

// testSealUnderItsRecipe: a snapshot is confirmed under the recipe that it was opened with.
func testSealUnderItsRecipe(_ *testing.T, e *env) {
	id := e.register("a")
	o := e.opening(id, recipe("m2"), edit{put: map[string]string{"x": "ab"}})
	_, err := e.s.Open(e.ctx, o)
	e.ok(err)
	e.process("ab")
	full := store.Seal{Codebase: id, Number: 1, Level: store.LevelFull, At: e.clock.now()}
	e.is(e.s.Seal(e.ctx, full), store.ErrIncomplete)
	e.ok(e.s.PutVectors(e.ctx, recipe("m2").Embedding.Key(), vectors("ab"), []store.SyntaxKey{key("ab")}))
	e.ok(e.s.Seal(e.ctx, full))
}

func testDeadFilesByAge(t *testing.T, e *env) {
	id := e.register("a")
	e.process("1", "2", "3")
	first, second := e.segment(id, 10, "first"), e.segment(id, 3, "second")
	seal := func(level store.Level, dead map[store.SegmentID][]uint32, ids ...store.SegmentID) {
		c, err := e.s.Codebase(e.ctx, id)
		e.ok(err)
		e.ok(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: c.Latest, Level: level, Segments: ids, Dead: dead}))
	}
	dead := func(number uint64) (all [][]uint32) {
		for _, ref := range e.view(id, number) {
			all = append(all, ref.Dead)
		}
		return all
	}
	e.open(id, edit{put: map[string]string{"x": "1"}})
	seal(store.LevelFull, nil, first)
	e.open(id, edit{put: map[string]string{"x": "2"}})
	seal(store.LevelText, map[store.SegmentID][]uint32{first: {7, 3}}, first, second)
	seal(store.LevelFull, map[store.SegmentID][]uint32{first: {3, 4}}, first, second)
	e.open(id, edit{put: map[string]string{"x": "3"}})
	seal(store.LevelFull, map[store.SegmentID][]uint32{first: {3, 9}, second: {0}}, first, second)
	e.same("dead in 1", dead(1), [][]uint32{nil})
	e.same("dead in 2", dead(2), [][]uint32{{3, 4, 7}, nil})
	e.same("dead in 3", dead(3), [][]uint32{{3, 4, 7, 9}, {0}})
	e.ok(e.s.SetCurrent(e.ctx, id, 1))
	e.same("dead in 1 when served again", dead(1), [][]uint32{nil})
}

func testReplaceSegments(t *testing.T, e *env) {
	id := e.register("a")
	a, b, c := e.segment(id, 2, "a"), e.segment(id, 2, "b"), e.segment(id, 3, "c")
	e.open(id, edit{put: map[string]string{"x": "1"}})
	e.is(e.s.ReplaceSegments(e.ctx, id, 1, nil, []store.SegmentID{a}), store.ErrNoSnapshot)
	e.seal(id, 1, a)
	e.open(id, edit{put: map[string]string{"x": "2"}})
	e.process("2")
	e.ok(e.s.Seal(e.ctx, store.Seal{
		Codebase: id, Number: 2, Level: store.LevelFull, Segments: []store.SegmentID{a, b}, Dead: map[store.SegmentID][]uint32{a: {1}},
	}))
	old, merged := []store.SegmentID{a, b}, []store.SegmentID{c}
	e.is(e.s.ReplaceSegments(e.ctx, id, 2, []store.SegmentID{b, a}, merged), store.ErrConflict)
	e.is(e.s.ReplaceSegments(e.ctx, id, 2, []store.SegmentID{a}, merged), store.ErrConflict)
	e.is(e.s.ReplaceSegments(e.ctx, id, 2, old, []store.SegmentID{999}), store.ErrNotFound)
	for range 2 {
		e.ok(e.s.ReplaceSegments(e.ctx, id, 2, old, merged))
	}
	e.same("merged", e.view(id, 2), []store.SegmentRef{{ID: c, Files: 3, Chunks: 6, Bytes: 1}})
	e.same("an older snapshot", e.view(id, 1), []store.SegmentRef{{ID: a, Files: 2, Chunks: 4, Bytes: 1}})
	e.is(e.s.ReplaceSegments(e.ctx, id, 2, old, []store.SegmentID{a}), store.ErrConflict)
	// b is named by no snapshot any more and has no grace; a is that of the first.
	e.same("collected", e.collect(store.Retention{Keep: 9}).Segments, 1)
	_, err := e.s.OpenSegment(e.ctx, b)
	e.is(err, store.ErrNotFound)
}

// testForget drops what was derived; snapshots and contents stay, and the work is pending
// again for a rebuild.
func testForget(t *testing.T, e *env) {
	id := e.register("a")
	e.step(id, edit{put: map[string]string{"x": "one", "y": "two"}})
	e.process("one")
	e.ok(e.s.PutStats(e.ctx, id, []store.StatEntry{{Path: "x"}}, nil))
	for range 2 {
		e.ok(e.s.Forget(e.ctx, id, true))
	}
	key := store.SyntaxKey{Content: hashOf("one"), Version: recipe("m1").SyntaxVersion("Go")}
	has, err := e.s.HasSyntax(e.ctx, []store.SyntaxKey{key})
	e.ok(err)
	e.same("syntaxes", len(has), 0)
	for _, err := range e.s.Stats(e.ctx, id) {
		e.ok(err)
		t.Error("a stat entry is left")
	}
	e.same("contents", e.held("one", "two"), []string{"one", "two"})
	e.same("manifest", len(e.manifest(id, 1)), 2)
	e.is(e.s.Forget(e.ctx, "nobody", true), store.ErrNotFound)
}

// testForgetSharedVectors forgets a codebase whose texts another one has, too: that one is
// not said to be embedded any more.
func testForgetSharedVectors(t *testing.T, e *env) {
	a, b := e.register("a"), e.register("b")
	e.step(a, edit{put: map[string]string{"x": "ab"}})
	e.step(b, edit{put: map[string]string{"y": "bc", "z": "de"}})
	e.process("ab", "bc", "de")
	e.ok(e.s.Forget(e.ctx, a, true))
	keys := []store.SyntaxKey{key("ab"), key("bc"), key("de")}
	has, err := e.s.HasSyntax(e.ctx, keys)
	e.ok(err)
	e.same("syntaxes", has, map[store.SyntaxKey]bool{key("bc"): true, key("de"): true})
	embedding := recipe("m1").Embedding.Key()
	marked, err := e.s.HasEmbedded(e.ctx, embedding, keys)
	e.ok(err)
	e.same("marks", marked, map[store.SyntaxKey]bool{key("de"): true})
	e.ok(e.s.PutVectors(e.ctx, embedding, vectors("b"), keys))
	marked, err = e.s.HasEmbedded(e.ctx, embedding, keys)
	e.ok(err)
	e.same("marks later", marked, map[store.SyntaxKey]bool{key("bc"): true, key("de"): true})
}

// testForgetKeepsPaidVectors forgets a codebase without its vectors: its syntaxes are made
// again, and no text is embedded again.
func testForgetKeepsPaidVectors(t *testing.T, e *env) {
	a := e.register("a")
	e.step(a, edit{put: map[string]string{"x": "ab"}})
	e.process("ab")
	embedding := recipe("m1").Embedding.Key()
	texts := []merkle.Hash{chunkHash('a'), chunkHash('b')}
	held := func() int {
		t.Helper()
		found, err := e.s.Vectors(e.ctx, embedding, texts)
		e.ok(err)
		return len(found)
	}
	before := held()
	e.ok(e.s.Forget(e.ctx, a, false))
	has, err := e.s.HasSyntax(e.ctx, []store.SyntaxKey{key("ab")})
	e.ok(err)
	e.same("syntaxes", len(has), 0)
	marked, err := e.s.HasEmbedded(e.ctx, embedding, []store.SyntaxKey{key("ab")})
	e.ok(err)
	e.same("marks", len(marked), 0)
	e.same("vectors", held(), before)
	if before == 0 {
		t.Error("there were no vectors to keep")
	}
	e.ok(e.s.Forget(e.ctx, a, true))
	e.process("ab")
	e.ok(e.s.Forget(e.ctx, a, true))
	e.same("vectors, when they are to be forgotten", held(), 0)
}

func testSegments(t *testing.T, e *env) {
	id := e.register("a")
	data := "the bytes of a segment"
	one, two, none := e.segment(id, 1, data), e.segment(id, 1, data), e.segment(id, 0, "")
	if one == two || one == none || one == 0 {
		t.Fatalf("ids are not unique: %d %d %d", one, two, none)
	}
	for sid, want := range map[store.SegmentID]string{one: data, two: data, none: ""} {
		first, err := e.s.OpenSegment(e.ctx, sid)
		e.ok(err)
		second, err := e.s.OpenSegment(e.ctx, sid)
		e.ok(err)
		for range 2 {
			e.ok(first.Close())
		}
		e.same("segment", string(second.Bytes()), want)
		e.ok(second.Close())
	}
	held, err := e.s.OpenSegment(e.ctx, one)
	e.ok(err)
	e.clock.advance(2 * store.CollectGrace)
	_, err = e.s.Collect(e.ctx, store.Retention{})
	e.ok(err)
	_, err = e.s.OpenSegment(e.ctx, one)
	e.is(err, store.ErrNotFound)
	e.same("a segment held while it was collected", string(held.Bytes()), data)
	e.ok(held.Close())
}

func testSetCurrent(t *testing.T, e *env) {
	id := e.register("a")
	e.step(id, edit{put: map[string]string{"x": "1"}})
	e.step(id, edit{put: map[string]string{"x": "2"}})
	e.open(id, edit{put: map[string]string{"x": "3"}})
	e.is(e.s.SetCurrent(e.ctx, id, 3), store.ErrNoSnapshot)
	for range 2 {
		e.ok(e.s.SetCurrent(e.ctx, id, 1))
	}
	e.same("current", e.current(id), uint64(1))
	e.seal(id, 3)
	e.same("current after the next seal", e.current(id), uint64(3))
	for _, pinned := range []bool{true, true, false} {
		e.ok(e.s.SetPinned(e.ctx, id, 1, pinned))
		n, err := e.s.Snapshot(e.ctx, id, 1)
		e.ok(err)
		e.same("pinned", n.Pinned, pinned)
	}
}
