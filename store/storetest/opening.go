package storetest

import (
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

func testOpen(t *testing.T, e *env) {
	id := e.register("a")
	o := e.opening(id, recipe("m1"), edit{put: map[string]string{"x": "xx", "y": "yyy"}})
	o.Ref, o.Stats, o.Events = "main\xff", []store.StatEntry{{Path: "x"}}, []store.OutboxEvent{event(id, 1, 0)}
	got, err := e.s.Open(e.ctx, o)
	e.ok(err)
	want := store.Snapshot{
		Codebase: id, Number: 1, Fingerprint: recipe("m1").Fingerprint(), Root: o.Root, Rebuild: true,
		OpenedAt: e.clock.now(), Files: 2, Bytes: 5, Changed: 2, Ref: "main\xff",
	}
	e.same("opened snapshot", got, want)
	got, err = e.s.Snapshot(e.ctx, id, 1)
	e.ok(err)
	e.same("snapshot", got, want)
	c, err := e.s.Codebase(e.ctx, id)
	e.ok(err)
	e.same("latest and current", []uint64{c.Latest, c.Current}, []uint64{1, 0})
	r, err := e.s.Recipe(e.ctx, got.Fingerprint)
	e.ok(err)
	e.same("recipe", r, recipe("m1"))
	data, err := e.s.Content(e.ctx, hashOf("yyy"))
	e.ok(err)
	e.same("content", string(data), "yyy")
	events, err := e.s.Outbox(e.ctx, 5)
	e.ok(err)
	e.same("events", events, o.Events)

	e.seal(id, 1)
	second := e.open(id, edit{put: map[string]string{"x": "x", "z": "zzzz"}, remove: []string{"y", "absent"}})
	e.same("counts of the second", []int{second.Files, int(second.Bytes), second.Changed, int(second.Base)}, []int{2, 5, 3, 1})
	all, err := e.s.Snapshots(e.ctx, id)
	e.ok(err)
	e.same("newest first", []uint64{all[0].Number, all[1].Number}, []uint64{2, 1})
}

func testOpenRefuses(t *testing.T, e *env) {
	tests := []struct {
		name   string
		change func(o *store.Opening)
		want   error
	}{
		{"number skipped", func(o *store.Opening) { o.Number++ }, store.ErrConflict},
		{"number and parent skipped", func(o *store.Opening) { o.Number++; o.Parent++ }, store.ErrConflict},
		{"another parent", func(o *store.Opening) { o.Parent = 0 }, store.ErrConflict},
		{"number zero", func(o *store.Opening) { o.Number, o.Parent = 0, 0 }, store.ErrConflict},
		{"number taken by another root", func(o *store.Opening) { o.Number, o.Parent = 1, 0 }, store.ErrConflict},
	}
	id := e.register("a")
	e.step(id, edit{put: map[string]string{"x": "x"}})
	for _, tt := range tests {
		o := e.opening(id, recipe("m1"), edit{put: map[string]string{"x": "y"}})
		tt.change(&o)
		if _, err := e.s.Open(e.ctx, o); err == nil {
			t.Errorf("%s: opened", tt.name)
		} else {
			e.is(err, tt.want)
		}
	}
	o := e.opening(id, recipe("m1"), edit{put: map[string]string{"x": "y"}})
	o.Upserts = append(o.Upserts, o.Upserts[0])
	if _, err := e.s.Open(e.ctx, o); err == nil {
		t.Error("a path was upserted twice")
	}
	e.open(id, edit{})
	_, err := e.s.Open(e.ctx, e.opening(id, recipe("m1"), edit{}))
	e.is(err, store.ErrAwaitingSeal)
	e.ok(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: 2, Level: store.LevelText, At: e.clock.now()}))
	_, err = e.s.Open(e.ctx, e.opening(id, recipe("m1"), edit{}))
	e.is(err, store.ErrAwaitingSeal)
	e.seal(id, 2)
	e.open(id, edit{})
}

func testOpenTwice(t *testing.T, e *env) {
	id := e.register("a")
	o := e.opening(id, recipe("m1"), edit{put: map[string]string{"x": "x"}})
	o.Events = []store.OutboxEvent{event(id, 1, 0)}
	first, err := e.s.Open(e.ctx, o)
	e.ok(err)
	o.At = o.At.Add(1)
	again, err := e.s.Open(e.ctx, o)
	e.ok(err)
	e.same("snapshot opened again", again, first)
	e.seal(id, 1)
	e.step(id, edit{put: map[string]string{"x": "y"}})
	again, err = e.s.Open(e.ctx, o)
	e.ok(err)
	e.same("old snapshot opened again", again.Number, uint64(1))
	events, err := e.s.Outbox(e.ctx, 10)
	e.ok(err)
	e.same("events", events, o.Events)
	c, err := e.s.Codebase(e.ctx, id)
	e.ok(err)
	e.same("latest", c.Latest, uint64(2))
	o.Recipe = recipe("m2")
	_, err = e.s.Open(e.ctx, o)
	e.is(err, store.ErrConflict)
}

func testOpenNeedsContents(t *testing.T, e *env) {
	id := e.register("a")
	o := e.opening(id, recipe("m1"), edit{put: map[string]string{"x": "x", "y": "y"}})
	o.Contents = []store.Content{content("x")}
	_, err := e.s.Open(e.ctx, o)
	e.is(err, store.ErrIncomplete)
	e.ok(e.s.PutContents(e.ctx, []store.Content{content("y")}))
	_, err = e.s.Open(e.ctx, o)
	e.ok(err)
}

func testOpenIsAtomic(t *testing.T, e *env) {
	id := e.register("a")
	o := e.opening(id, recipe("m1"), edit{put: map[string]string{"x": "x", "y": "y"}})
	o.Contents = []store.Content{content("x")}
	o.Stats, o.Events = []store.StatEntry{{Path: "x"}}, []store.OutboxEvent{event(id, 1, 0)}
	_, err := e.s.Open(e.ctx, o)
	e.is(err, store.ErrIncomplete)
	has, err := e.s.HasContents(e.ctx, []merkle.Hash{hashOf("x")})
	e.ok(err)
	e.same("contents of a refused opening", has, nil)
	events, err := e.s.Outbox(e.ctx, 1)
	e.ok(err)
	e.same("events of a refused opening", events, nil)
	for entry, err := range e.s.Stats(e.ctx, id) {
		e.ok(err)
		t.Fatalf("a refused opening left %v", entry)
	}
	_, err = e.s.Recipe(e.ctx, recipe("m1").Fingerprint())
	e.is(err, store.ErrNotFound)
	c, err := e.s.Codebase(e.ctx, id)
	e.ok(err)
	e.same("latest", c.Latest, uint64(0))
}

func testAbandon(t *testing.T, e *env) {
	id := e.register("a")
	e.open(id, edit{put: map[string]string{"x": "x"}})
	for range 2 {
		e.ok(e.s.Abandon(e.ctx, id, 1))
	}
	n, err := e.s.Snapshot(e.ctx, id, 1)
	e.ok(err)
	e.same("abandoned", n.Abandoned, true)
	e.is(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: 1, Level: store.LevelFull}), store.ErrConflict)
	second := e.open(id, edit{put: map[string]string{"y": "y"}})
	e.same("base", second.Base, uint64(0))
	e.ok(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: 2, Level: store.LevelText, At: e.clock.now()}))
	e.ok(e.s.Abandon(e.ctx, id, 2))
	view, err := e.s.View(e.ctx, id, 2)
	e.ok(err)
	e.same("view of an abandoned text snapshot", view.Snapshot.Level, store.LevelText)
	e.ok(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: 2, Level: store.LevelText}))
	e.step(id, edit{})
	e.is(e.s.Abandon(e.ctx, id, 3), store.ErrConflict)
}

func testBase(t *testing.T, e *env) {
	id := e.register("a")
	bases := []uint64{}
	open := func(model string, rebuild bool) uint64 {
		o := e.opening(id, recipe(model), edit{put: map[string]string{"x": model}})
		o.Rebuild = rebuild
		n, err := e.s.Open(e.ctx, o)
		e.ok(err)
		bases = append(bases, n.Base)
		return n.Number
	}
	e.seal(id, open("m1", true))
	e.ok(e.s.Abandon(e.ctx, id, open("m1", false)))
	n := open("m1", false)
	e.ok(e.s.Seal(e.ctx, store.Seal{Codebase: id, Number: n, Level: store.LevelText, At: e.clock.now()}))
	e.ok(e.s.Abandon(e.ctx, id, n))
	e.seal(id, open("m1", false))
	e.seal(id, open("m1", false))
	e.seal(id, open("m2", true))
	e.seal(id, open("m2", false))
	e.seal(id, open("m1", false))
	e.same("bases", bases, []uint64{0, 1, 1, 1, 4, 0, 6, 5})
}
