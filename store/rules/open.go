package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Instant is a time as every store gives it back: in UTC, without a monotonic reading.
func Instant(t time.Time) time.Time { return t.Round(0).UTC() }

// Open opens a snapshot; see store.Writer. put stores the contents of the opening, or
// returns store.ErrChecksum and stores none.
func Open(ctx context.Context, rows Rows, o store.Opening, put func() error) (store.Snapshot, error) {
	c, err := rows.Codebase(ctx, o.Codebase)
	if err != nil {
		return store.Snapshot{}, err
	}
	all, err := rows.Snapshots(ctx, o.Codebase)
	if err != nil {
		return store.Snapshot{}, err
	}
	fingerprint := o.Recipe.Fingerprint()
	for _, n := range all {
		if n.Number == o.Number && n.Root == o.Root && n.Fingerprint == fingerprint {
			return n.Snapshot, nil // it was opened before
		}
	}
	upserts, removes := sorted(o)
	if err := mayOpen(ctx, rows, c, all, o, upserts); err != nil {
		return store.Snapshot{}, fmt.Errorf("open snapshot %d of codebase %s: %w", o.Number, o.Codebase, err)
	}
	if err := put(); err != nil {
		return store.Snapshot{}, err
	}
	n := store.Snapshot{
		Codebase: o.Codebase, Number: o.Number, Parent: o.Parent, Fingerprint: fingerprint, Root: o.Root,
		Rebuild: o.Rebuild, OpenedAt: Instant(o.At), Ref: o.Ref,
	}
	if !o.Rebuild {
		n.Base = base(all, fingerprint)
	}
	if n.Files, n.Bytes, n.Changed, err = edit(ctx, rows, all, n, upserts, removes); err != nil {
		return store.Snapshot{}, err
	}
	c.Latest = o.Number
	return n, inOrder(
		func() error { return rows.AddRecipe(ctx, fingerprint, o.Recipe) },
		func() error { return rows.AddSnapshot(ctx, n) },
		func() error { return rows.PutHeads(ctx, c) },
		func() error { return retry(ctx, rows, o) },
		func() error { return rows.PutStats(ctx, o.Codebase, o.Stats, o.StatRemoves) },
		func() error { return rows.PutOutbox(ctx, o.Events) },
	)
}

// retry forgets the failures of a codebase when its opening says so.
func retry(ctx context.Context, rows FailureRows, o store.Opening) error {
	if !o.Retry {
		return nil
	}
	_, err := rows.DropFailures(ctx, o.Codebase, "")
	return err
}

// inOrder calls steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// sorted are the upserts of an opening by path, and those of its removes that no upsert
// brings back.
func sorted(o store.Opening) (upserts []store.FileEntry, removes []string) {
	upserts = slices.Clone(o.Upserts)
	slices.SortFunc(upserts, func(a, b store.FileEntry) int { return strings.Compare(a.Path, b.Path) })
	removes = slices.Clone(o.Removes)
	slices.Sort(removes)
	removes = slices.DeleteFunc(slices.Compact(removes), func(path string) bool {
		_, ok := slices.BinarySearchFunc(upserts, path, func(f store.FileEntry, path string) int { return strings.Compare(f.Path, path) })
		return ok
	})
	return upserts, removes
}

// mayOpen returns why an opening is refused. all are the snapshots of its codebase.
func mayOpen(ctx context.Context, rows Rows, c store.Codebase, all []Snapshot, o store.Opening, upserts []store.FileEntry) error {
	if o.Number != c.Latest+1 || o.Parent != c.Latest {
		return fmt.Errorf("the latest is %d: %w", c.Latest, store.ErrConflict)
	}
	if len(all) > 0 && all[0].Level != store.LevelFull && !all[0].Abandoned {
		return fmt.Errorf("snapshot %d: %w", all[0].Number, store.ErrAwaitingSeal)
	}
	brought := make(map[merkle.Hash]bool, len(o.Contents))
	for _, content := range o.Contents {
		brought[content.Hash] = true
	}
	var asked []merkle.Hash
	for i, f := range upserts {
		if i > 0 && f.Path == upserts[i-1].Path {
			return fmt.Errorf("path %q is upserted twice", f.Path)
		}
		if !brought[f.Content] {
			brought[f.Content] = true
			asked = append(asked, f.Content)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	stored, err := rows.HasContents(ctx, asked)
	if err != nil {
		return err
	}
	for _, h := range asked {
		if !stored[h] {
			at := slices.IndexFunc(upserts, func(f store.FileEntry) bool { return f.Content == h })
			return fmt.Errorf("content %s of %q: %w", h.Short(), upserts[at].Path, store.ErrIncomplete)
		}
	}
	return nil
}

// base is the newest snapshot sealed full under a fingerprint, 0 when there is none.
func base(all []Snapshot, fingerprint store.Fingerprint) uint64 {
	for _, n := range all {
		if n.Level == store.LevelFull && n.Fingerprint == fingerprint {
			return n.Number
		}
	}
	return 0
}

// edit writes the manifest of a snapshot and counts its files, their bytes and the changes
// against its parent.
func edit(ctx context.Context, rows Rows, all []Snapshot, n store.Snapshot, upserts []store.FileEntry, removes []string) (files int, bytes int64, changed int, err error) {
	if len(all) > 0 {
		files, bytes = all[0].Files, all[0].Bytes
	}
	ended, err := rows.EditManifest(ctx, n, upserts, removes)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, f := range upserts {
		bytes += f.Size
	}
	return files - ended.Files + len(upserts), bytes - ended.Bytes, ended.Removed + len(upserts), nil
}
