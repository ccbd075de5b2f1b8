package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// Outbox lists the oldest events that are not marked as published.
func (s *Store) Outbox(ctx context.Context, limit int) (events []store.OutboxEvent, err error) {
	err = s.view(ctx, func(c *tx) error {
		events = nil
		return c.each(ctx, "SELECT codebase, snapshot, part, data FROM outbox WHERE tenant = $1 ORDER BY seq LIMIT $2", []any{max(limit, 0)},
			func(rows pgx.Rows) error {
				var codebase string
				var snapshot, part int64
				var data []byte
				err := rows.Scan(&codebase, &snapshot, &part, &data)
				events = append(events, store.OutboxEvent{
					Codebase: store.CodebaseID(codebase), Snapshot: uint64(snapshot), Part: uint32(part), Data: data,
				})
				return err
			})
	})
	return events, err
}

// PutOutbox commits events.
func (s *Store) PutOutbox(ctx context.Context, events []store.OutboxEvent) error {
	return s.change(ctx, func(r rows) error { return r.PutOutbox(ctx, events) })
}

// eventKeys are the identities of events as arguments.
func eventKeys(events []store.OutboxEvent) (codebases []string, snapshots, parts []int64) {
	for _, e := range events {
		codebases, snapshots, parts = append(codebases, string(e.Codebase)), append(snapshots, int64(e.Snapshot)), append(parts, int64(e.Part))
	}
	return codebases, snapshots, parts
}

// PutOutbox is the last statement of its transaction: from here to the commit no other
// puts events, so that they are numbered in the order of commits.
func (r rows) PutOutbox(ctx context.Context, events []store.OutboxEvent) error {
	if len(events) == 0 {
		return nil
	}
	if _, err := r.c.exec(ctx, "SELECT pg_advisory_xact_lock("+outboxLock+")"); err != nil {
		return fmt.Errorf("wait for the outbox: %w", err)
	}
	codebases, snapshots, parts := eventKeys(events)
	data := make([][]byte, len(events))
	for i, e := range events {
		data[i] = append([]byte{}, e.Data...)
	}
	_, err := r.c.exec(ctx, `INSERT INTO outbox (tenant, codebase, snapshot, part, data)
		SELECT $1, codebase, snapshot, part, data FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bytea[])
			WITH ORDINALITY AS e (codebase, snapshot, part, data, place) ORDER BY place ON CONFLICT DO NOTHING`,
		codebases, snapshots, parts, data)
	if err != nil {
		return fmt.Errorf("put events: %w", err)
	}
	return nil
}

// MarkPublished takes events out of the outbox and moves the log position.
func (s *Store) MarkPublished(ctx context.Context, events []store.OutboxEvent, at store.LogPosition) error {
	return s.change(ctx, func(r rows) error { return rules.MarkPublished(ctx, r, events, at) })
}

// DropOutbox drops events.
func (r rows) DropOutbox(ctx context.Context, events []store.OutboxEvent) error {
	codebases, snapshots, parts := eventKeys(events)
	_, err := r.c.exec(ctx, `DELETE FROM outbox USING unnest($2::text[], $3::bigint[], $4::bigint[]) AS e (codebase, snapshot, part)
		WHERE tenant = $1 AND outbox.codebase = e.codebase AND outbox.snapshot = e.snapshot AND outbox.part = e.part`,
		codebases, snapshots, parts)
	if err != nil {
		return fmt.Errorf("mark events: %w", err)
	}
	return nil
}

// LogPosition returns the position recorded last.
func (s *Store) LogPosition(ctx context.Context) (at store.LogPosition, err error) {
	err = s.look(ctx, func(r rows) error {
		at, err = r.Position(ctx)
		return err
	})
	return at, err
}

// SetLogPosition records the log position as it is given.
func (s *Store) SetLogPosition(ctx context.Context, at store.LogPosition) error {
	return s.change(ctx, func(r rows) error { return r.PutPosition(ctx, at) })
}

// Position returns the log position.
func (r rows) Position(ctx context.Context) (at store.LogPosition, err error) {
	var sequence int64
	found, err := r.c.one(ctx, "SELECT incarnation, sequence FROM stores WHERE tenant = $1"+r.lock, nil, &at.Incarnation, &sequence)
	if err == nil && !found {
		err = fmt.Errorf("tenant %s has no store: %w", r.c.tenant, store.ErrCorrupt)
	}
	if err != nil {
		return store.LogPosition{}, fmt.Errorf("log position: %w", err)
	}
	at.Sequence = uint64(sequence)
	return at, nil
}

// PutPosition writes the log position.
func (r rows) PutPosition(ctx context.Context, at store.LogPosition) error {
	_, err := r.c.exec(ctx, "UPDATE stores SET incarnation = $2, sequence = $3 WHERE tenant = $1", at.Incarnation, int64(at.Sequence))
	if err != nil {
		return fmt.Errorf("set log position: %w", err)
	}
	return nil
}
