package rules

import (
	"context"
	"fmt"

	"github.com/freshet/freshet/store"
)

// Complete returns store.ErrCorrupt when rows of a snapshot are missing: got is how many were
// read, want how many the snapshot counts. It passes on what went wrong reading them.
func Complete(err error, what string, n store.Snapshot, got, want int) error {
	if err == nil && got != want {
		err = fmt.Errorf("%d rows, want %d: %w", got, want, store.ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("%s of snapshot %d: %w", what, n.Number, err)
	}
	return nil
}

// Delta returns what a snapshot changed against its base; see store.Reader.
func Delta(ctx context.Context, rows Rows, id store.CodebaseID, number uint64) (upserted []store.FileEntry, removed []string, err error) {
	n, err := rows.Snapshot(ctx, id, number)
	if err != nil {
		return nil, nil, err
	}
	if upserted, err = upsertedOf(ctx, rows, n.Snapshot); err != nil || n.Base == 0 {
		return upserted, nil, err
	}
	removed, err = rows.Removed(ctx, n.Snapshot)
	got, want := len(upserted)+len(removed), n.Changed
	if n.Base != n.Parent {
		got = want // abandoned snapshots lie between: their changes are not counted
	}
	if err = Complete(err, "delta", n.Snapshot, got, want); err != nil {
		return nil, nil, err
	}
	return upserted, removed, nil
}

// upsertedOf lists the files of a snapshot that began after its base, all of its files when
// it has none.
func upsertedOf(ctx context.Context, rows ManifestRows, n store.Snapshot) ([]store.FileEntry, error) {
	files, err := rows.Upserted(ctx, n)
	got, want := len(files), n.Files
	if n.Base > 0 {
		got = want
	}
	return files, Complete(err, "delta", n, got, want)
}

// Pending lists the work of a snapshot; see store.Reader.
func Pending(ctx context.Context, rows Rows, id store.CodebaseID, number uint64, recipe store.Recipe) ([]store.PendingFile, error) {
	n, err := rows.Snapshot(ctx, id, number)
	if err != nil {
		return nil, err
	}
	return pending(ctx, rows, n.Snapshot, recipe)
}

// lacking lists the work of a snapshot under its own recipe.
func lacking(ctx context.Context, rows Rows, n store.Snapshot) ([]store.PendingFile, error) {
	recipe, err := rows.Recipe(ctx, n.Fingerprint)
	if err != nil {
		return nil, err
	}
	return pending(ctx, rows, n, recipe)
}

func pending(ctx context.Context, rows Rows, n store.Snapshot, recipe store.Recipe) (pending []store.PendingFile, err error) {
	files, err := upsertedOf(ctx, rows, n)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	failures, err := rows.Failures(ctx, n.Codebase)
	if err != nil {
		return nil, err
	}
	rule := store.NewRule(recipe, failures)
	keys := make([]store.SyntaxKey, len(files))
	for i, f := range files {
		keys[i] = rule.Key(f)
	}
	chunked, embedded, err := rows.Progress(ctx, rule.Embedding(), keys)
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		if standing := rule.Standing(f, chunked[keys[i]], embedded[keys[i]]); !standing.Settled() {
			pending = append(pending, store.PendingFile{FileEntry: f, Stage: standing.Lacks})
		}
	}
	return pending, nil
}
