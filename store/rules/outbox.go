package rules

import (
	"context"

	"github.com/freshet/freshet/store"
)

// MarkPublished takes events out of the outbox and moves the log position; see store.Writer.
func MarkPublished(ctx context.Context, rows OutboxRows, events []store.OutboxEvent, at store.LogPosition) error {
	before, err := rows.Position(ctx)
	if err != nil {
		return err
	}
	if at.Incarnation == before.Incarnation {
		at.Sequence = max(at.Sequence, before.Sequence)
	}
	if err := rows.DropOutbox(ctx, events); err != nil {
		return err
	}
	return rows.PutPosition(ctx, at)
}
