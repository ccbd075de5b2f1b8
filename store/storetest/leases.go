package storetest

import (
	"testing"
	"time"

	"github.com/freshet/freshet/store"
)

// testRegisterPlaces registers one path in several places: each is a codebase of its own.
func testRegisterPlaces(_ *testing.T, e *env) {
	put := func(id store.CodebaseID, place string) store.Codebase {
		c, err := e.s.Register(e.ctx, store.Codebase{ID: id, Name: "n", Place: place, Root: "/src"})
		e.ok(err)
		return c
	}
	none, one, two := put("a", ""), put("b", "one"), put("c", "two")
	e.same("the place", []string{none.Place, one.Place, two.Place}, []string{"", "one", "two"})
	e.same("registered again", put("d", "one"), one)
	e.ok(e.s.SetFailure(e.ctx, "b", "reason"))
	all, err := e.s.Codebases(e.ctx)
	e.ok(err)
	one.Failure = "reason"
	e.same("all", all, []store.Codebase{none, one, two})
}

// testLeases takes, renews, loses and gives back leases.
func testLeases(_ *testing.T, e *env) {
	const ttl = time.Minute
	acquire := func(name, holder string) store.Lease {
		l, err := e.s.Acquire(e.ctx, name, holder, ttl)
		e.ok(err)
		return l
	}
	refused := func(name, holder string, by store.Lease) {
		l, err := e.s.Acquire(e.ctx, name, holder, ttl)
		e.is(err, store.ErrHeld)
		e.same("who holds it", l, by)
	}
	until := func() time.Time { return e.clock.now().Add(ttl).Round(0).UTC() }

	first := acquire("x", "a")
	e.same("taken", first, store.Lease{Name: "x", Holder: "a", Token: first.Token, Until: until()})
	refused("x", "b", first)
	other := acquire("y", "b")
	e.same("another name", other.Holder, "b")

	e.clock.advance(ttl - time.Second)
	renewed := acquire("x", "a")
	e.same("renewed", renewed, store.Lease{Name: "x", Holder: "a", Token: first.Token, Until: until()})
	e.clock.advance(time.Second)
	refused("x", "b", renewed)

	e.clock.advance(ttl)
	e.same("late, and nobody took it", acquire("x", "a").Token, first.Token)
	e.clock.advance(ttl)
	second := acquire("x", "b")
	if second.Token <= first.Token {
		e.t.Fatalf("token %d after %d", second.Token, first.Token)
	}
	e.ok(e.s.Release(e.ctx, renewed)) // another's by now
	refused("x", "a", second)
	e.ok(e.s.Release(e.ctx, second))
	e.ok(e.s.Release(e.ctx, second))
	third := acquire("x", "a")
	if third.Token <= second.Token {
		e.t.Fatalf("token %d after %d", third.Token, second.Token)
	}
	e.ok(e.s.Release(e.ctx, store.Lease{Name: "x", Holder: "a", Token: first.Token}))
	refused("x", "b", third)
	e.ok(e.s.Release(e.ctx, store.Lease{Name: "never", Holder: "a"}))
}

// testFencedWrites has a holder that was taken over write: nothing of it counts.
func testFencedWrites(_ *testing.T, e *env) {
	id := e.register("a")
	e.open(id, edit{put: map[string]string{"f": "1"}})
	held, err := e.s.Acquire(e.ctx, store.SyncLease(id), "first", time.Minute)
	e.ok(err)
	ctx := store.WithFence(e.ctx, held)
	e.ok(e.s.SetFailure(ctx, id, "by the holder"))
	e.clock.advance(2 * time.Minute)
	e.ok(e.s.SetFailure(ctx, id, "late, and nobody took it"))
	_, err = e.s.Acquire(e.ctx, store.SyncLease(id), "second", time.Minute)
	e.ok(err)

	writes := map[string]func() error{
		"SetFailure": func() error { return e.s.SetFailure(ctx, id, "too late") },
		"SetIdentity": func() error {
			return e.s.SetIdentity(ctx, id, store.RootIdentity{Device: 9})
		},
		"PutStats": func() error { return e.s.PutStats(ctx, id, []store.StatEntry{{Path: "f"}}, nil) },
		"Abandon":  func() error { return e.s.Abandon(ctx, id, 1) },
		"PutContents": func() error {
			return e.s.PutContents(ctx, []store.Content{content("late")})
		},
		"Open": func() error {
			_, err := e.s.Open(ctx, e.opening(id, recipe("m1"), edit{put: map[string]string{"f": "2"}}))
			return err
		},
		"Seal": func() error {
			return e.s.Seal(ctx, store.Seal{Codebase: id, Number: 1, Level: store.LevelText, At: e.clock.now()})
		},
		"RecordFailure": func() error {
			_, err := e.s.RecordFailure(ctx, store.Failure{Codebase: id, Path: "f", Stage: store.StageChunk}, false, nil)
			return err
		},
		"PutSegment": func() error {
			_, err := e.s.PutSegment(ctx, id, 1, 1, []byte("segment"))
			return err
		},
		"PutOutbox": func() error { return e.s.PutOutbox(ctx, []store.OutboxEvent{{Codebase: id, Snapshot: 9}}) },
		"Collect": func() error {
			_, err := e.s.Collect(ctx, store.Retention{})
			return err
		},
		"Clear": func() error { return e.s.Clear(ctx, id) },
	}
	for name, write := range writes {
		if err := write(); err == nil {
			e.t.Fatalf("%s of a holder that was taken over went through", name)
		} else {
			e.is(err, store.ErrFenced)
		}
	}
	c, err := e.s.Codebase(e.ctx, id)
	e.ok(err)
	e.same("after it", c.Failure, "late, and nobody took it")
	e.same("latest", c.Latest, uint64(1))
	_, err = e.s.Acquire(ctx, "another", "first", time.Minute) // making a fence needs none
	e.ok(err)
}
