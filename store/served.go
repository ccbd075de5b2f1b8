package store

import (
	"context"
	"fmt"
)

// SnapshotReader reads codebases and their snapshots; a Reader is one.
type SnapshotReader interface {
	Codebase(ctx context.Context, id CodebaseID) (Codebase, error)
	Snapshot(ctx context.Context, id CodebaseID, number uint64) (Snapshot, error)
}

// Served returns the snapshot of a codebase that is current, or ErrNoSnapshot.
func Served(ctx context.Context, r SnapshotReader, id CodebaseID) (Snapshot, error) {
	codebase, err := r.Codebase(ctx, id)
	if err != nil {
		return Snapshot{}, fmt.Errorf("codebase %s: %w", id, err)
	}
	if codebase.Current == 0 {
		return Snapshot{}, ErrNoSnapshot
	}
	return r.Snapshot(ctx, id, codebase.Current)
}
