package memstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// Outbox lists the oldest events that are not marked as published.
func (s *Store) Outbox(ctx context.Context, limit int) (events []store.OutboxEvent, err error) {
	err = s.read(ctx, func() error {
		for _, e := range s.outbox[:min(max(limit, 0), len(s.outbox))] {
			e.Data = bytes.Clone(e.Data)
			events = append(events, e)
		}
		return nil
	})
	return events, err
}

// LogPosition returns the position recorded last.
func (s *Store) LogPosition(ctx context.Context) (at store.LogPosition, err error) {
	err = s.read(ctx, func() error {
		at = s.position
		return nil
	})
	return at, err
}

// PutOutbox commits events.
func (s *Store) PutOutbox(ctx context.Context, events []store.OutboxEvent) error {
	return s.write(ctx, func() error {
		return rows{s}.PutOutbox(ctx, events)
	})
}

// MarkPublished takes events out of the outbox and moves the log position.
func (s *Store) MarkPublished(ctx context.Context, events []store.OutboxEvent, at store.LogPosition) error {
	return s.write(ctx, func() error { return rules.MarkPublished(ctx, rows{s}, events, at) })
}

// SetLogPosition records the log position as it is given.
func (s *Store) SetLogPosition(ctx context.Context, at store.LogPosition) error {
	return s.write(ctx, func() error { return rows{s}.PutPosition(ctx, at) })
}

func (r rows) PutOutbox(_ context.Context, events []store.OutboxEvent) error {
	for _, e := range events {
		if slices.ContainsFunc(r.s.outbox, func(o store.OutboxEvent) bool { return same(o, e) }) {
			continue
		}
		e.Data = bytes.Clone(e.Data)
		r.s.outbox = append(r.s.outbox, e)
	}
	return nil
}

func (r rows) DropOutbox(_ context.Context, events []store.OutboxEvent) error {
	r.s.outbox = slices.DeleteFunc(r.s.outbox, func(o store.OutboxEvent) bool {
		return slices.ContainsFunc(events, func(e store.OutboxEvent) bool { return same(o, e) })
	})
	return nil
}

func (r rows) Position(context.Context) (store.LogPosition, error) { return r.s.position, nil }

func (r rows) PutPosition(_ context.Context, at store.LogPosition) error {
	r.s.position = at
	return nil
}

func same(a, b store.OutboxEvent) bool {
	return a.Codebase == b.Codebase && a.Snapshot == b.Snapshot && a.Part == b.Part
}
