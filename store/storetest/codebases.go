package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

func testCodebases(t *testing.T, e *env) {
	if e.s.Epoch() == "" {
		t.Fatal("the store has no epoch")
	}
	put := func(id store.CodebaseID, name string) store.Codebase {
		c, err := e.s.Register(e.ctx, store.Codebase{
			ID: id, Name: name, Root: "/r/" + string(id) + "\xff", Identity: store.RootIdentity{Device: 1<<64 - 1, Inode: 2},
			Current: 7, Latest: 8, Failure: "not the caller's",
		})
		e.ok(err)
		return c
	}
	b, a2, a1 := put("b", "beta"), put("a2", "alpha"), put("a1", "alpha")
	want := store.Codebase{
		ID: "b", Name: "beta", Root: "/r/b\xff", Identity: store.RootIdentity{Device: 1<<64 - 1, Inode: 2}, RegisteredAt: e.clock.now(),
	}
	e.same("registered codebase", b, want)
	all, err := e.s.Codebases(e.ctx)
	e.ok(err)
	e.same("codebases by name and id", all, []store.Codebase{a1, a2, b})

	e.ok(e.s.SetIdentity(e.ctx, "b", store.RootIdentity{Device: 3, Inode: 4}))
	e.ok(e.s.SetFailure(e.ctx, "b", "disk is full"))
	want.Identity, want.Failure = store.RootIdentity{Device: 3, Inode: 4}, "disk is full"
	got, err := e.s.Codebase(e.ctx, "b")
	e.ok(err)
	e.same("changed codebase", got, want)
	e.ok(e.s.SetFailure(e.ctx, "b", ""))
	got, err = e.s.Codebase(e.ctx, "b")
	e.ok(err)
	e.same("failure", got.Failure, "")
}

func testRegisterTwice(t *testing.T, e *env) {
	e.register("a")
	before, err := e.s.Codebase(e.ctx, "a")
	e.ok(err)
	again, err := e.s.Register(e.ctx, store.Codebase{ID: "other", Name: "other", Root: before.Root})
	e.ok(err)
	e.same("codebase of a registered root", again, before)
	_, err = e.s.Codebase(e.ctx, "other")
	e.is(err, store.ErrNotFound)
	_, err = e.s.Register(e.ctx, store.Codebase{ID: "a", Root: "/elsewhere"})
	e.is(err, store.ErrConflict)
	for _, id := range []store.CodebaseID{"", "A", "a.b", "a*", "é"} {
		if _, err := e.s.Register(e.ctx, store.Codebase{ID: id, Root: "/bad"}); err == nil {
			t.Errorf("id %q was taken", id)
		}
	}
}

func testClear(t *testing.T, e *env) {
	a := e.register("a")
	e.register("b")
	n := e.open(a, edit{put: map[string]string{"x": "x"}})
	e.seal(a, n.Number, e.segment(a, 1, "seg"))
	e.ok(e.s.PutStats(e.ctx, a, []store.StatEntry{{Path: "x"}}, nil))
	_, err := e.s.RecordFailure(e.ctx, store.Failure{Codebase: a, Path: "x", Stage: store.StageChunk}, true, nil)
	e.ok(err)
	for range 2 {
		e.ok(e.s.Clear(e.ctx, a))
	}
	_, err = e.s.Codebase(e.ctx, a)
	e.is(err, store.ErrNotFound)
	_, err = e.s.Snapshots(e.ctx, a)
	e.is(err, store.ErrNotFound)
	all, err := e.s.Codebases(e.ctx)
	e.ok(err)
	if len(all) != 1 || all[0].ID != "b" {
		t.Fatalf("codebases after clear: %v", all)
	}
	e.register(a)
	c, err := e.s.Codebase(e.ctx, a)
	e.ok(err)
	e.same("latest of a codebase registered anew", c.Latest, uint64(0))
	failures, err := e.s.Failures(e.ctx, a)
	e.ok(err)
	e.same("failures of a codebase registered anew", failures, nil)
	for f, err := range e.s.Stats(e.ctx, a) {
		t.Fatalf("a stat entry survived: %v %v", f, err)
	}
	first := e.open(a, edit{put: map[string]string{"y": "y"}})
	e.same("files of the first snapshot anew", first.Files, 1)
	e.same("manifest anew", e.manifest(a, 1), []store.FileEntry{file("y", "y")})
}

func testClearKeepsEvents(t *testing.T, e *env) {
	a := e.register("a")
	e.ok(e.s.PutOutbox(e.ctx, []store.OutboxEvent{event(a, 0, 1)}))
	e.ok(e.s.Clear(e.ctx, a))
	e.ok(e.s.PutOutbox(e.ctx, []store.OutboxEvent{event(a, 0, 2)}))
	events, err := e.s.Outbox(e.ctx, 10)
	e.ok(err)
	e.same("outbox", events, []store.OutboxEvent{event(a, 0, 1), event(a, 0, 2)})
}

// calls are all methods that speak of a codebase, by name.
func calls(ctx context.Context, s store.Store, id store.CodebaseID) map[string]error {
	errs := map[string]error{}
	_, errs["Codebase"] = s.Codebase(ctx, id)
	_, errs["Snapshots"] = s.Snapshots(ctx, id)
	_, errs["Failures"] = s.Failures(ctx, id)
	for _, err := range s.Stats(ctx, id) {
		errs["Stats"] = err
	}
	errs["SetIdentity"] = s.SetIdentity(ctx, id, store.RootIdentity{})
	errs["SetFailure"] = s.SetFailure(ctx, id, "x")
	errs["PutStats"] = s.PutStats(ctx, id, []store.StatEntry{{Path: "x"}}, nil)
	_, errs["Open"] = s.Open(ctx, store.Opening{Codebase: id, Number: 1})
	_, errs["PutSegment"] = s.PutSegment(ctx, id, 1, 1, []byte("x"))
	_, errs["RecordFailure"] = s.RecordFailure(ctx, store.Failure{Codebase: id, Path: "x"}, false, nil)
	_, errs["ForgetFailures"] = s.ForgetFailures(ctx, id, "")
	for name, err := range snapshotCalls(ctx, s, id, 1) {
		errs[name] = err
	}
	return errs
}

// snapshotCalls are all methods that speak of a snapshot, by name.
func snapshotCalls(ctx context.Context, s store.Store, id store.CodebaseID, number uint64) map[string]error {
	errs := map[string]error{}
	_, errs["Snapshot"] = s.Snapshot(ctx, id, number)
	_, errs["View"] = s.View(ctx, id, number)
	for _, err := range s.Manifest(ctx, id, number) {
		errs["Manifest"] = err
	}
	_, errs["File"] = s.File(ctx, id, number, "x")
	_, _, errs["Delta"] = s.Delta(ctx, id, number)
	_, errs["Pending"] = s.Pending(ctx, id, number, recipe("m1"))
	errs["Abandon"] = s.Abandon(ctx, id, number)
	errs["Seal"] = s.Seal(ctx, store.Seal{Codebase: id, Number: number, Level: store.LevelFull})
	errs["ReplaceSegments"] = s.ReplaceSegments(ctx, id, number, nil, []store.SegmentID{1})
	errs["SetCurrent"] = s.SetCurrent(ctx, id, number)
	errs["SetPinned"] = s.SetPinned(ctx, id, number, true)
	return errs
}

func testUnknownCodebase(t *testing.T, e *env) {
	for name, err := range calls(e.ctx, e.s, "nobody") {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of an unknown codebase: %v", name, err)
		}
	}
}

func testUnknownSnapshot(t *testing.T, e *env) {
	id := e.register("a")
	e.step(id, edit{put: map[string]string{"x": "x"}})
	for name, err := range snapshotCalls(e.ctx, e.s, id, 2) {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of an unknown snapshot: %v", name, err)
		}
	}
	_, err := e.s.View(e.ctx, id, 0)
	e.is(err, store.ErrNoSnapshot)
	_, err = e.s.Recipe(e.ctx, "nothing")
	e.is(err, store.ErrNotFound)
	_, err = e.s.Content(e.ctx, merkle.Hash{1})
	e.is(err, store.ErrNotFound)
	_, err = e.s.OpenSegment(e.ctx, 99)
	e.is(err, store.ErrNotFound)
	_, err = e.s.File(e.ctx, id, 1, "y")
	e.is(err, store.ErrNotFound)
}

func testCanceledContext(t *testing.T, e *env) {
	id := e.register("a")
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	for name, err := range calls(ctx, e.s, id) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s under a cancelled context: %v", name, err)
		}
	}
	e.is(e.s.PutContents(ctx, []store.Content{content("x")}), context.Canceled)
	_, err := e.s.Content(e.ctx, hashOf("x"))
	e.is(err, store.ErrNotFound)
	c, err := e.s.Codebase(e.ctx, id)
	e.ok(err)
	e.same("failure", c.Failure, "")
}

func testClosed(t *testing.T, e *env) {
	id := e.register("a")
	e.step(id, edit{put: map[string]string{"x": "x"}})
	for range 2 {
		e.ok(e.s.Close())
	}
	for name, err := range calls(e.ctx, e.s, id) {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after close: %v", name, err)
		}
	}
	_, err := e.s.Collect(e.ctx, store.Retention{})
	e.is(err, store.ErrClosed)
	_, err = e.s.Usage(e.ctx)
	e.is(err, store.ErrClosed)
	e.is(e.s.Check(e.ctx), store.ErrClosed)
	_, err = e.s.Outbox(e.ctx, 1)
	e.is(err, store.ErrClosed)
}
