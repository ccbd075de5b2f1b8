package memstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/freshet/freshet/store"
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
		s.putOutbox(events)
		return nil
	})
}

// MarkPublished takes events out of the outbox and moves the log position.
func (s *Store) MarkPublished(ctx context.Context, events []store.OutboxEvent, at store.LogPosition) error {
	return s.write(ctx, func() error {
		for _, e := range events {
			s.outbox = slices.DeleteFunc(s.outbox, func(o store.OutboxEvent) bool { return same(o, e) })
		}
		if at.Incarnation == s.position.Incarnation {
			at.Sequence = max(at.Sequence, s.position.Sequence)
		}
		s.position = at
		return nil
	})
}

// SetLogPosition records the log position as it is given.
func (s *Store) SetLogPosition(ctx context.Context, at store.LogPosition) error {
	return s.write(ctx, func() error {
		s.position = at
		return nil
	})
}

func (s *Store) putOutbox(events []store.OutboxEvent) {
	for _, e := range events {
		if slices.ContainsFunc(s.outbox, func(o store.OutboxEvent) bool { return same(o, e) }) {
			continue
		}
		e.Data = bytes.Clone(e.Data)
		s.outbox = append(s.outbox, e)
	}
}

func same(a, b store.OutboxEvent) bool {
	return a.Codebase == b.Codebase && a.Snapshot == b.Snapshot && a.Part == b.Part
}
