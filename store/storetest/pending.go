package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
)

// pending lists the work of a snapshot as path and stage.
func (e *env) pending(id store.CodebaseID, number uint64, model string) []string {
	e.t.Helper()
	files, err := e.s.Pending(e.ctx, id, number, recipe(model))
	e.ok(err)
	var all []string
	for _, f := range files {
		all = append(all, f.Path+" "+string(f.Stage))
	}
	return all
}

func testPending(t *testing.T, e *env) {
	id := e.register("a")
	e.open(id, edit{put: map[string]string{"a": "a", "b": "b", "c": "a"}})
	e.same("new", e.pending(id, 1, "m1"), []string{"a chunk", "b chunk", "c chunk"})
	e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{{Key: key("a"), Syntax: syntax("a")}}))
	e.same("chunked", e.pending(id, 1, "m1"), []string{"a embed", "b chunk", "c embed"})
	e.process("a")
	e.same("embedded", e.pending(id, 1, "m1"), []string{"b chunk"})
	e.same("under another embedding", e.pending(id, 1, "m2"), []string{"a embed", "b chunk", "c embed"})
	e.process("b")
	e.same("done", e.pending(id, 1, "m1"), nil)
	e.seal(id, 1)
	e.open(id, edit{put: map[string]string{"a": "a2", "moved": "b"}, remove: []string{"b"}})
	e.same("only the delta", e.pending(id, 2, "m1"), []string{"a chunk"})
	files, err := e.s.Pending(e.ctx, id, 2, recipe("m1"))
	e.ok(err)
	e.same("pending file", files, []store.PendingFile{{FileEntry: file("a", "a2"), Stage: store.StageChunk}})
	other := recipe("m1")
	other.Grammars = map[string]string{"Go": "g2"}
	files, err = e.s.Pending(e.ctx, id, 2, other)
	e.ok(err)
	e.same("under another grammar", len(files), 2)
}

func testPendingOfRebuild(t *testing.T, e *env) {
	id := e.register("a")
	e.process("a", "b")
	e.step(id, edit{put: map[string]string{"a": "a", "b": "b"}})
	o := e.opening(id, recipe("m2"), edit{put: map[string]string{"c": "c"}})
	o.Rebuild = true
	n, err := e.s.Open(e.ctx, o)
	e.ok(err)
	e.same("base of a rebuild", n.Base, uint64(0))
	e.same("changed by a rebuild", n.Changed, 1)
	e.same("rebuild", e.pending(id, 2, "m2"), []string{"a embed", "b embed", "c chunk"})
	upserted, removed := e.delta(id, 2)
	e.same("delta of a rebuild", upserted, []string{"a", "b", "c"})
	e.same("removed by a rebuild", removed, nil)
}

func testPendingParked(t *testing.T, e *env) {
	id := e.register("a")
	e.open(id, edit{put: map[string]string{"a": "a", "b": "b", "c": "c"}})
	e.ok(e.s.PutSyntax(e.ctx, []store.SyntaxRecord{{Key: key("b"), Syntax: syntax("b")}}))
	fail := func(path, text string, stage store.Stage, version string, park bool) {
		_, err := e.s.RecordFailure(e.ctx, store.Failure{
			Codebase: id, Path: path, Content: hashOf(text), Stage: stage, Version: version, Reason: "r",
		}, park, nil)
		e.ok(err)
	}
	chunker, embedding := recipe("m1").SyntaxVersion("Go"), recipe("m1").Embedding.Key()
	fail("a", "a", store.StageChunk, chunker, false)
	e.same("tried once", e.pending(id, 1, "m1"), []string{"a chunk", "b embed", "c chunk"})
	fail("a", "a", store.StageChunk, chunker, true)
	fail("b", "b", store.StageEmbed, embedding, true)
	fail("c", "other", store.StageChunk, chunker, true)
	fail("c", "c", store.StageChunk, "another version", true)
	fail("c", "c", store.StageEmbed, embedding, true)
	e.same("parked", e.pending(id, 1, "m1"), []string{"c chunk"})
	e.same("under another recipe", e.pending(id, 1, "m2"), []string{"b embed", "c chunk"})
	_, err := e.s.ForgetFailures(e.ctx, id, "a")
	e.ok(err)
	e.same("unparked", e.pending(id, 1, "m1"), []string{"a chunk", "c chunk"})
	e.process("b")
	e.same("another path of a parked content", e.pending(id, 1, "m1"), []string{"a chunk", "c chunk"})
}

func testFailures(t *testing.T, e *env) {
	id := e.register("a")
	f := store.Failure{
		Codebase: id, Path: "p\xff", Content: hashOf("x"), Stage: store.StageChunk, Version: "v", Tries: 3, Parked: true,
		Reason: "first", At: e.clock.now(),
	}
	for try := 1; try <= store.MaxTries+1; try++ {
		f.At = f.At.Add(time.Second)
		got, err := e.s.RecordFailure(e.ctx, f, false, nil)
		e.ok(err)
		want := f
		want.Tries, want.Parked = try, try >= store.MaxTries
		e.same("recorded failure", got, want)
	}
	other := store.Failure{Codebase: id, Path: "a", Stage: store.StageEmbed, Version: "v", Reason: "r"}
	_, err := e.s.RecordFailure(e.ctx, other, false, nil)
	e.ok(err)
	for _, version := range []string{"w", "v"} {
		other := store.Failure{Codebase: id, Path: "z", Stage: store.StageChunk, Version: version}
		got, err := e.s.RecordFailure(e.ctx, other, true, nil)
		e.ok(err)
		e.same("parked at once", got.Parked, true)
		got, err = e.s.RecordFailure(e.ctx, other, false, nil)
		e.ok(err)
		e.same("parked stays parked", got.Parked, true)
	}
	all, err := e.s.Failures(e.ctx, id)
	e.ok(err)
	var order []string
	for _, f := range all {
		order = append(order, f.Path+" "+f.Version)
	}
	e.same("order of failures", order, []string{"p\xff v", "z v", "z w", "a v"})
}

func testNewContentResetsTries(t *testing.T, e *env) {
	id := e.register("a")
	record := func(text, version string, stage store.Stage) int {
		got, err := e.s.RecordFailure(e.ctx, store.Failure{
			Codebase: id, Path: "p", Content: hashOf(text), Stage: stage, Version: version,
		}, false, nil)
		e.ok(err)
		return got.Tries
	}
	e.same("tries", []int{
		record("x", "v1", store.StageChunk), record("x", "v1", store.StageChunk),
		record("y", "v1", store.StageChunk), record("x", "v2", store.StageChunk),
		record("x", "v1", store.StageEmbed), record("x", "v1", store.StageChunk),
	}, []int{1, 2, 1, 1, 1, 3})
}

func testForgetFailures(t *testing.T, e *env) {
	id := e.register("a")
	record := func(path string, stage store.Stage, park bool) store.Failure {
		f, err := e.s.RecordFailure(e.ctx, store.Failure{Codebase: id, Path: path, Stage: stage}, park, nil)
		e.ok(err)
		return f
	}
	a1, a2 := record("a", store.StageChunk, true), record("a", store.StageEmbed, true)
	record("b", store.StageChunk, false)
	c := record("c", store.StageChunk, true)
	record("ab", store.StageChunk, false)
	got, err := e.s.ForgetFailures(e.ctx, id, "a")
	e.ok(err)
	e.same("parked failures of a path", got, []store.Failure{a1, a2})
	got, err = e.s.ForgetFailures(e.ctx, id, "a")
	e.ok(err)
	e.same("forgotten twice", got, nil)
	got, err = e.s.ForgetFailures(e.ctx, id, "")
	e.ok(err)
	e.same("parked failures of all paths", got, []store.Failure{c})
	all, err := e.s.Failures(e.ctx, id)
	e.ok(err)
	e.same("failures", all, nil)
}

// An opening that retries forgets the failures of its codebase and of no other, in its own
// transaction: not when it is refused, and not those that were recorded after it.
func testOpenRetries(t *testing.T, e *env) {
	a, b := e.register("a"), e.register("b")
	park := func(id store.CodebaseID, path, text string) store.Failure {
		f, err := e.s.RecordFailure(e.ctx, store.Failure{
			Codebase: id, Path: path, Content: hashOf(text), Stage: store.StageChunk, Version: recipe("m1").SyntaxVersion("Go"), Reason: "r",
		}, true, nil)
		e.ok(err)
		return f
	}
	failures := func(id store.CodebaseID) []store.Failure {
		all, err := e.s.Failures(e.ctx, id)
		e.ok(err)
		return all
	}
	e.open(a, edit{put: map[string]string{"p": "x", "q": "y"}})
	parked, other := park(a, "p", "x"), park(b, "p", "x")
	e.seal(a, 1)
	o := e.opening(a, recipe("m1"), edit{put: map[string]string{"q": "z"}})
	o.Rebuild, o.Retry, o.Contents = true, true, nil
	_, err := e.s.Open(e.ctx, o)
	e.is(err, store.ErrIncomplete)
	e.same("failures after a refused opening", failures(a), []store.Failure{parked})
	o.Contents = []store.Content{content("z")}
	_, err = e.s.Open(e.ctx, o)
	e.ok(err)
	e.same("failures after a retry", failures(a), nil)
	e.same("failures of another codebase", failures(b), []store.Failure{other})
	e.same("work of a retry", e.pending(a, 2, "m1"), []string{"p chunk", "q chunk"})
	parked = park(a, "p", "x")
	_, err = e.s.Open(e.ctx, o)
	e.ok(err)
	e.same("failures after the same opening again", failures(a), []store.Failure{parked})
	e.seal(a, 2)
	e.open(a, edit{put: map[string]string{"q": "w"}})
	e.same("failures after an opening that does not retry", failures(a), []store.Failure{parked})
}

// The event of a parked file is committed with the try that parks it, or neither is.
func testParkedWithItsEvent(t *testing.T, e *env) {
	id := e.register("a")
	f := store.Failure{Codebase: id, Path: "p", Content: hashOf("x"), Stage: store.StageChunk, Version: "v", Reason: "r"}
	refused := errors.New("the event cannot be made")
	outcome := error(nil)
	announce := func(f store.Failure) (store.OutboxEvent, error) { return event(id, 1, uint32(f.Tries)), outcome }
	for range store.MaxTries - 1 {
		_, err := e.s.RecordFailure(e.ctx, f, false, announce)
		e.ok(err)
	}
	outcome = refused
	_, err := e.s.RecordFailure(e.ctx, f, false, announce)
	e.is(err, refused)
	events, err := e.s.Outbox(e.ctx, 10)
	e.ok(err)
	e.same("events before it is parked", events, nil)
	outcome = nil
	got, err := e.s.RecordFailure(e.ctx, f, false, announce)
	e.ok(err)
	e.same("tries and parked", []any{got.Tries, got.Parked}, []any{store.MaxTries, true})
	events, err = e.s.Outbox(e.ctx, 10)
	e.ok(err)
	e.same("events", events, []store.OutboxEvent{event(id, 1, uint32(store.MaxTries))})
}
