package pgstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/freshet/freshet/store"
)

// openEnd is the end of the manifest rows of the latest snapshot.
const openEnd = math.MaxInt64

// Open opens a snapshot.
func (s *Store) Open(ctx context.Context, o store.Opening) (opened store.Snapshot, err error) {
	if err := s.usable(ctx); err != nil {
		return opened, err
	}
	o.Upserts = slices.Clone(o.Upserts)
	slices.SortFunc(o.Upserts, func(a, b store.FileEntry) int { return strings.Compare(a.Path, b.Path) })
	packed := s.newPacking(o.Contents)
	err = s.write(ctx, func(c *session) error {
		b, err := c.holdCodebase(ctx, o.Codebase)
		if err != nil {
			return err
		}
		fingerprint := o.Recipe.Fingerprint()
		all, err := c.snapshots(ctx, o.Codebase)
		if err != nil {
			return err
		}
		for _, n := range all {
			if n.Number == o.Number && n.Root == o.Root && n.Fingerprint == fingerprint {
				opened = n.Snapshot
				return nil
			}
		}
		if err := mayOpen(b, all, o); err != nil {
			return fmt.Errorf("open snapshot %d of codebase %s: %w", o.Number, o.Codebase, err)
		}
		if err := packed.put(ctx, c); err != nil {
			return err
		}
		opened, err = c.open(ctx, all, o, fingerprint)
		return err
	})
	if err != nil {
		return store.Snapshot{}, err
	}
	return opened, nil
}

func mayOpen(b store.Codebase, all []snapshot, o store.Opening) error {
	if o.Number != b.Latest+1 || o.Parent != b.Latest {
		return fmt.Errorf("the latest is %d: %w", b.Latest, store.ErrConflict)
	}
	if len(all) > 0 && all[0].Level != store.LevelFull && !all[0].Abandoned {
		return fmt.Errorf("snapshot %d: %w", b.Latest, store.ErrAwaitingSeal)
	}
	for i := 1; i < len(o.Upserts); i++ {
		if o.Upserts[i].Path == o.Upserts[i-1].Path {
			return fmt.Errorf("path %q is upserted twice", o.Upserts[i].Path)
		}
	}
	return nil
}

// open writes the rows of an opening whose contents are stored already.
func (c *session) open(ctx context.Context, all []snapshot, o store.Opening, fingerprint store.Fingerprint) (store.Snapshot, error) {
	n := snapshot{Snapshot: store.Snapshot{
		Codebase: o.Codebase, Number: o.Number, Parent: o.Parent, Base: base(all, o, fingerprint), Fingerprint: fingerprint,
		Root: o.Root, Rebuild: o.Rebuild, OpenedAt: timeOf(instant(o.At)), Ref: o.Ref,
	}}
	if len(all) > 0 {
		n.Files, n.Bytes = all[0].Files, all[0].Bytes
	}
	if err := c.editManifest(ctx, &n, o); err != nil {
		return n.Snapshot, err
	}
	if err := c.putRecipe(ctx, fingerprint, o.Recipe); err != nil {
		return n.Snapshot, err
	}
	if err := c.insertSnapshot(ctx, n); err != nil {
		return n.Snapshot, err
	}
	if err := c.updateCodebase(ctx, o.Codebase, "latest = $3", int64(o.Number)); err != nil {
		return n.Snapshot, err
	}
	if o.Retry {
		if _, err := c.exec(ctx, "DELETE FROM failures WHERE tenant = $1 AND codebase = $2", string(o.Codebase)); err != nil {
			return n.Snapshot, fmt.Errorf("forget failures: %w", err)
		}
	}
	if err := c.putStats(ctx, o.Codebase, o.Stats, o.StatRemoves); err != nil {
		return n.Snapshot, err
	}
	return n.Snapshot, c.putOutbox(ctx, o.Events)
}

// base is the newest snapshot sealed full under the fingerprint.
func base(all []snapshot, o store.Opening, fingerprint store.Fingerprint) uint64 {
	if o.Rebuild {
		return 0
	}
	for _, n := range all {
		if n.Level == store.LevelFull && n.Fingerprint == fingerprint {
			return n.Number
		}
	}
	return 0
}

// editManifest writes the delta of a snapshot and keeps its counts.
func (c *session) editManifest(ctx context.Context, n *snapshot, o store.Opening) error {
	err := c.stage(ctx, stageFiles, len(o.Upserts), func(i int) ([]any, error) {
		f := o.Upserts[i]
		return []any{blob(f.Path), f.Content[:], f.Size, blob(f.Language), int16(f.Flags), blob(f.RenamedFrom)}, nil
	})
	if err != nil {
		return err
	}
	if err := c.haveContents(ctx, o.Upserts); err != nil {
		return err
	}
	if err := c.endRows(ctx, n, o); err != nil {
		return fmt.Errorf("end rows of the manifest: %w", err)
	}
	if len(o.Upserts) == 0 {
		return nil
	}
	added, err := c.exec(ctx, `INSERT INTO manifest (tenant, codebase, path, first, last, content, size, language, flags, renamed)
		SELECT $1, $2, path, $3, $4, content, size, language, flags, renamed FROM stage_files`,
		string(o.Codebase), int64(o.Number), int64(openEnd))
	if err != nil {
		return fmt.Errorf("add rows to the manifest: %w", err)
	}
	n.Files += int(added)
	n.Changed += int(added)
	for _, f := range o.Upserts {
		n.Bytes += f.Size
	}
	return nil
}

// haveContents returns store.ErrIncomplete when a staged file has a content that is not
// stored.
func (c *session) haveContents(ctx context.Context, files []store.FileEntry) error {
	if len(files) == 0 {
		return nil
	}
	var path, content []byte
	missing, err := c.one(ctx, `SELECT path, content FROM stage_files
		WHERE NOT EXISTS (SELECT FROM contents WHERE tenant = $1 AND hash = content) LIMIT 1`, nil, &path, &content)
	if err != nil {
		return fmt.Errorf("look for the contents of upserted files: %w", err)
	}
	if missing {
		return fmt.Errorf("upsert %q: content %x: %w", path, content[:min(len(content), 6)], store.ErrIncomplete)
	}
	return nil
}

// endRows ends the rows of the parent whose paths are removed or get a new row.
func (c *session) endRows(ctx context.Context, n *snapshot, o store.Opening) error {
	if o.Parent == 0 || len(o.Upserts)+len(o.Removes) == 0 {
		return nil
	}
	removes := make([][]byte, len(o.Removes))
	for i, path := range o.Removes {
		removes[i] = blob(path)
	}
	var ended, bytes, removed int64
	_, err := c.one(ctx, `WITH ended AS (
			UPDATE manifest SET last = $3 WHERE tenant = $1 AND codebase = $2 AND last = $4
			AND path IN (SELECT path FROM stage_files UNION SELECT unnest($5::bytea[])) RETURNING path, size)
		SELECT count(*), coalesce(sum(size), 0)::bigint, count(*) FILTER (WHERE path NOT IN (SELECT path FROM stage_files)) FROM ended`,
		[]any{string(o.Codebase), int64(o.Number), int64(openEnd), removes}, &ended, &bytes, &removed)
	if err != nil {
		return err
	}
	c.written += ended
	n.Files -= int(ended)
	n.Bytes -= bytes
	n.Changed += int(removed)
	return nil
}
