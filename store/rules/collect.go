package rules

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/freshet/freshet/store"
)

// Collect removes snapshots beyond the retention and what none of the others reaches; see
// store.Writer. It removes whether or not the retention is a dry run: its caller rolls back.
func Collect(ctx context.Context, rows CollectRows, r store.Retention, now time.Time) (store.Collected, error) {
	codebases, err := rows.Codebases(ctx)
	if err != nil {
		return store.Collected{}, fmt.Errorf("collect: %w", err)
	}
	removed, recipes := 0, map[store.Fingerprint]store.Recipe{}
	for _, c := range codebases {
		n, err := collectSnapshots(ctx, rows, c, r, recipes)
		if err != nil {
			return store.Collected{}, fmt.Errorf("collect: codebase %s: %w", c.ID, err)
		}
		removed += n
	}
	collected, err := rows.Sweep(ctx, now.Add(-store.CollectGrace), reached(recipes))
	if err != nil {
		return store.Collected{}, fmt.Errorf("collect: %w", err)
	}
	collected.Snapshots = removed
	return collected, nil
}

// collectSnapshots removes the snapshots of a codebase that are not retained, with the rows
// that only they had. It adds the recipes of the others to recipes.
func collectSnapshots(ctx context.Context, rows CollectRows, c store.Codebase, r store.Retention, recipes map[store.Fingerprint]store.Recipe) (removed int, err error) {
	all, err := rows.Snapshots(ctx, c.ID)
	if err != nil {
		return 0, err
	}
	keep := r.Retained(c, plain(all))
	var left []Snapshot
	var gone []uint64
	for _, n := range all {
		if !keep[n.Number] {
			gone = append(gone, n.Number)
			continue
		}
		left = append(left, n)
		if _, known := recipes[n.Fingerprint]; known {
			continue
		}
		if recipes[n.Fingerprint], err = rows.Recipe(ctx, n.Fingerprint); err != nil {
			return 0, err
		}
	}
	return len(gone), inOrder(
		func() error { return rows.DropSnapshots(ctx, c.ID, gone) },
		func() error { return rows.TrimManifest(ctx, c.ID, left) },
		func() error { return rows.TrimFailures(ctx, c.ID) },
	)
}

// reached is what recipes reach.
func reached(recipes map[store.Fingerprint]store.Recipe) Reached {
	versions, embeddings := map[string]bool{}, map[string]bool{}
	for _, recipe := range recipes {
		embeddings[recipe.Embedding.Key()] = true
		versions[recipe.SyntaxVersion("")] = true
		for language := range recipe.Grammars {
			versions[recipe.SyntaxVersion(language)] = true
		}
	}
	return Reached{slices.Sorted(maps.Keys(recipes)), slices.Sorted(maps.Keys(versions)), slices.Sorted(maps.Keys(embeddings))}
}
