package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/checksum"
	"github.com/freshet/freshet/store/rules"
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
			data, err := checksum.Cut(body, "outbox", outboxKey(codebase, snapshot, part)...)
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
	return s.change(ctx, func(r *rows) error { return r.PutOutbox(ctx, events) })
}

// PutOutbox adds events.
func (r *rows) PutOutbox(_ context.Context, events []store.OutboxEvent) error {
	for _, e := range events {
		key := outboxKey(string(e.Codebase), int64(e.Snapshot), int64(e.Part))
		err := r.c.exec("INSERT INTO outbox (codebase, snapshot, part, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			string(e.Codebase), int64(e.Snapshot), int64(e.Part), checksum.Append(e.Data[:len(e.Data):len(e.Data)], "outbox", key...))
		if err != nil {
			return fmt.Errorf("put event of snapshot %d: %w", e.Snapshot, err)
		}
	}
	return nil
}

// MarkPublished takes events out of the outbox and moves the log position.
func (s *Store) MarkPublished(ctx context.Context, events []store.OutboxEvent, at store.LogPosition) error {
	return s.change(ctx, func(r *rows) error { return rules.MarkPublished(ctx, r, events, at) })
}

// DropOutbox drops events.
func (r *rows) DropOutbox(_ context.Context, events []store.OutboxEvent) error {
	for _, e := range events {
		err := r.c.exec("DELETE FROM outbox WHERE codebase = ? AND snapshot = ? AND part = ?", string(e.Codebase), int64(e.Snapshot), int64(e.Part))
		if err != nil {
			return fmt.Errorf("mark event of snapshot %d: %w", e.Snapshot, err)
		}
	}
	return nil
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
	return s.change(ctx, func(r *rows) error { return r.PutPosition(ctx, at) })
}

// Position returns the log position.
func (r *rows) Position(context.Context) (store.LogPosition, error) { return r.c.position() }

func (c *session) position() (store.LogPosition, error) {
	_, at, err := c.header()
	return at, err
}

// PutPosition writes the log position.
func (r *rows) PutPosition(_ context.Context, at store.LogPosition) error {
	return r.c.putHeader(r.s.epoch, at)
}

// header reads the row of the store; the epoch of a new one is "".
func (c *session) header() (epoch string, at store.LogPosition, err error) {
	r := newRecord("store", storeColumns)
	err = c.each("SELECT "+storeColumns+" FROM store", nil, func(rows *sql.Rows) error {
		if err := r.scan(rows); err != nil {
			return err
		}
		r.at++ // the id
		epoch, at = r.text(), store.LogPosition{Incarnation: r.text(), Sequence: r.uint()}
		return r.end()
	})
	return epoch, at, err
}

var putHeader = put("store", storeColumns, 1)

func (c *session) putHeader(epoch string, at store.LogPosition) error {
	var w columns
	w.int(1)
	w.text(epoch)
	w.text(at.Incarnation)
	w.uint(at.Sequence)
	return c.exec(putHeader, w.summed("store")...)
}
