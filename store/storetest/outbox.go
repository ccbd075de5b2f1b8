package storetest

import (
	"testing"

	"github.com/freshet/freshet/store"
)

func testOutboxOrder(t *testing.T, e *env) {
	a, z := e.register("a"), e.register("z")
	outbox := func(limit int) []store.OutboxEvent {
		events, err := e.s.Outbox(e.ctx, limit)
		e.ok(err)
		return events
	}
	e.same("empty", outbox(10), nil)
	all := []store.OutboxEvent{event(z, 2, 1), event(z, 2, 0), event(a, 1, 5), event(z, 1, 0)}
	e.ok(e.s.PutOutbox(e.ctx, all[:2]))
	e.ok(e.s.PutOutbox(e.ctx, all[2:]))
	e.ok(e.s.PutOutbox(e.ctx, all)) // a repeat changes nothing
	e.same("in the order of commits", outbox(10), all)
	e.same("limited", outbox(3), all[:3])
	e.same("limited to none", outbox(0), nil)
	for range 2 {
		e.ok(e.s.MarkPublished(e.ctx, []store.OutboxEvent{all[1], {Codebase: z, Snapshot: 1}}, store.LogPosition{Incarnation: "i", Sequence: 3}))
	}
	e.same("after publishing", outbox(10), []store.OutboxEvent{all[0], all[2]})
	o := e.opening(a, recipe("m1"), edit{})
	o.Events = []store.OutboxEvent{event(a, 1, 0)}
	_, err := e.s.Open(e.ctx, o)
	e.ok(err)
	e.same("after opening", outbox(10), []store.OutboxEvent{all[0], all[2], event(a, 1, 0)})
}

func testLogPosition(t *testing.T, e *env) {
	position := func() store.LogPosition {
		at, err := e.s.LogPosition(e.ctx)
		e.ok(err)
		return at
	}
	at := func(incarnation string, sequence uint64) store.LogPosition {
		return store.LogPosition{Incarnation: incarnation, Sequence: sequence}
	}
	e.same("at first", position(), at("", 0))
	e.ok(e.s.MarkPublished(e.ctx, nil, at("i1", 5)))
	e.same("published", position(), at("i1", 5))
	e.ok(e.s.MarkPublished(e.ctx, nil, at("i1", 1<<63+1)))
	e.ok(e.s.MarkPublished(e.ctx, nil, at("i1", 6)))
	e.same("forwards only", position(), at("i1", 1<<63+1))
	e.ok(e.s.MarkPublished(e.ctx, nil, at("i2", 2)))
	e.same("another incarnation", position(), at("i2", 2))
	e.ok(e.s.SetLogPosition(e.ctx, at("i2", 1)))
	e.same("set backwards", position(), at("i2", 1))
}
