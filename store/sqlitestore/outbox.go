package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/freshet/freshet/store"
)

func outboxKey(codebase string, snapshot, part int64) [][]byte {
	return [][]byte{[]byte(codebase), number(snapshot), number(part)}
}

// Outbox lists the oldest events that are not marked as published.
func (s *Store) Outbox(ctx context.Context, limit int) (events []store.OutboxEvent, err error) {
	err = s.view(ctx, func(c *session) error {
		return c.each("SELECT codebase, snapshot, part, body FROM outbox ORDER BY seq LIMIT ?", []any{max(limit, 0)}, func(rows *sql.Rows) error {
			var codebase string
			var snapshot, part int64
			var body []byte
			if err := rows.Scan(&codebase, &snapshot, &part, &body); err != nil {
				return err
			}
			data, err := unseal(body, "outbox", outboxKey(codebase, snapshot, part)...)
			if err != nil {
				return fmt.Errorf("event of snapshot %d: %w", snapshot, err)
			}
			events = append(events, store.OutboxEvent{
				Codebase: store.CodebaseID(codebase), Snapshot: uint64(snapshot), Part: uint32(part), Data: data[:len(data):len(data)],
			})
			return nil
		})
	})
	return events, err
}

// PutOutbox commits events.
func (s *Store) PutOutbox(ctx context.Context, events []store.OutboxEvent) error {
	return s.write(ctx, func(c *session) error { return c.putOutbox(events) })
}

func (c *session) putOutbox(events []store.OutboxEvent) error {
	for _, e := range events {
		key := outboxKey(string(e.Codebase), int64(e.Snapshot), int64(e.Part))
		err := c.exec("INSERT INTO outbox (codebase, snapshot, part, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			string(e.Codebase), int64(e.Snapshot), int64(e.Part), seal(e.Data[:len(e.Data):len(e.Data)], "outbox", key...))
		if err != nil {
			return fmt.Errorf("put event of snapshot %d: %w", e.Snapshot, err)
		}
	}
	return nil
}

// MarkPublished takes events out of the outbox and moves the log position.
func (s *Store) MarkPublished(ctx context.Context, events []store.OutboxEvent, at store.LogPosition) error {
	return s.write(ctx, func(c *session) error {
		for _, e := range events {
			err := c.exec("DELETE FROM outbox WHERE codebase = ? AND snapshot = ? AND part = ?", string(e.Codebase), int64(e.Snapshot), int64(e.Part))
			if err != nil {
				return fmt.Errorf("mark event of snapshot %d: %w", e.Snapshot, err)
			}
		}
		before, err := c.position()
		if err != nil {
			return err
		}
		if at.Incarnation == before.Incarnation {
			at.Sequence = max(at.Sequence, before.Sequence)
		}
		return c.setPosition(at)
	})
}

// LogPosition returns the position recorded last.
func (s *Store) LogPosition(ctx context.Context) (at store.LogPosition, err error) {
	err = s.view(ctx, func(c *session) error {
		at, err = c.position()
		return err
	})
	return at, err
}

// SetLogPosition records the log position as it is given.
func (s *Store) SetLogPosition(ctx context.Context, at store.LogPosition) error {
	return s.write(ctx, func(c *session) error { return c.setPosition(at) })
}

func (c *session) position() (store.LogPosition, error) {
	value, err := c.meta("log position")
	if err != nil || value == nil {
		return store.LogPosition{}, err
	}
	r := reader{buf: value}
	at := store.LogPosition{Incarnation: r.string(), Sequence: r.uint()}
	return at, r.end("log position")
}

func (c *session) setPosition(at store.LogPosition) error {
	var w writer
	w.string(at.Incarnation)
	w.uint(at.Sequence)
	return c.setMeta("log position", w.buf)
}
