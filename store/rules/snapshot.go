package rules

import (
	"context"
	"fmt"

	"github.com/freshet/freshet/store"
)

// held is a snapshot of a codebase that no other transaction changes.
func held(ctx context.Context, rows Rows, id store.CodebaseID, number uint64) (Snapshot, error) {
	if _, err := rows.Codebase(ctx, id); err != nil {
		return Snapshot{}, err
	}
	return rows.Snapshot(ctx, id, number)
}

// Snapshots lists the snapshots of a codebase; see store.Reader.
func Snapshots(ctx context.Context, rows Rows, id store.CodebaseID) ([]store.Snapshot, error) {
	if _, err := rows.Codebase(ctx, id); err != nil {
		return nil, err
	}
	all, err := rows.Snapshots(ctx, id)
	return plain(all), err
}

// plain are snapshots without their segments.
func plain(all []Snapshot) []store.Snapshot {
	out := make([]store.Snapshot, len(all))
	for i, n := range all {
		out[i] = n.Snapshot
	}
	return out
}

// Abandon gives up a snapshot; see store.Writer.
func Abandon(ctx context.Context, rows Rows, id store.CodebaseID, number uint64) error {
	n, err := held(ctx, rows, id, number)
	if err != nil {
		return err
	}
	if n.Level == store.LevelFull {
		return fmt.Errorf("abandon snapshot %d, which is full: %w", number, store.ErrConflict)
	}
	n.Abandoned = true
	return rows.UpdateSnapshot(ctx, n)
}

// SetPinned keeps a snapshot from collection, or stops keeping it; see store.Writer.
func SetPinned(ctx context.Context, rows Rows, id store.CodebaseID, number uint64, pinned bool) error {
	n, err := held(ctx, rows, id, number)
	if err != nil {
		return err
	}
	n.Pinned = pinned
	return rows.UpdateSnapshot(ctx, n)
}

// SetCurrent serves another sealed snapshot; see store.Writer.
func SetCurrent(ctx context.Context, rows Rows, id store.CodebaseID, number uint64) error {
	c, err := rows.Codebase(ctx, id)
	if err != nil {
		return err
	}
	n, err := rows.Snapshot(ctx, id, number)
	if err != nil {
		return err
	}
	if n.Level == store.LevelOpen {
		return fmt.Errorf("serve snapshot %d: %w", number, store.ErrNoSnapshot)
	}
	c.Current = number
	return rows.PutHeads(ctx, c)
}
