package storetest

import (
	"testing"
	"time"

	"github.com/freshet/freshet/store"
)

func testSessions(t *testing.T, e *env) {
	until := func(d time.Duration) time.Time { return e.clock.now().Add(d).Round(0).UTC() }
	get := func(id string) store.Session {
		s, err := e.s.Session(e.ctx, id)
		e.ok(err)
		return s
	}
	_, err := e.s.Session(e.ctx, "a")
	e.is(err, store.ErrNotFound)
	a := store.Session{ID: "a", Until: until(time.Minute), Body: []byte("shown")}
	b := store.Session{ID: "b", Until: until(time.Hour)}
	e.ok(e.s.PutSession(e.ctx, a))
	e.ok(e.s.PutSession(e.ctx, b))
	e.same("the first", get("a"), a)
	e.same("the second, which is empty", get("b"), b)
	get("a").Body[0] = 'X'
	e.same("after its copy was written to", get("a"), a)
	e.clock.advance(time.Minute)
	_, err = e.s.Session(e.ctx, "a")
	e.is(err, store.ErrNotFound)
	e.same("one that lasts", get("b"), b)
	a.Until, a.Body = until(time.Minute), []byte("again")
	e.ok(e.s.PutSession(e.ctx, a))
	e.same("put again", get("a"), a)
	b.Body = []byte("more")
	e.ok(e.s.PutSession(e.ctx, b))
	e.ok(e.s.PutSession(e.ctx, b))
	e.same("replaced", get("b"), b)
	e.ok(e.s.Clear(e.ctx, e.register("cleared")))
	_, err = e.s.Session(e.ctx, "b")
	e.is(err, store.ErrNotFound)
}
