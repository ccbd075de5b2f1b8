package pgstore

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

const selectFiles = "SELECT path, content, size, language, flags, renamed FROM manifest WHERE tenant = $1 AND codebase = $2"

func scanFile(rows pgx.Rows) (f store.FileEntry, err error) {
	var path, content, language, renamed []byte
	var flags int16
	if err := rows.Scan(&path, &content, &f.Size, &language, &flags, &renamed); err != nil {
		return f, err
	}
	f.Path, f.Language, f.Flags, f.RenamedFrom = string(path), string(language), store.FileFlags(flags), string(renamed)
	f.Content, err = hashOf(content)
	return f, err
}

// files lists the files that a condition selects.
func (c *tx) files(ctx context.Context, id store.CodebaseID, condition string, args ...any) (files []store.FileEntry, err error) {
	err = c.each(ctx, selectFiles+condition, append([]any{string(id)}, args...), func(rows pgx.Rows) error {
		f, err := scanFile(rows)
		files = append(files, f)
		return err
	})
	return files, err
}

// pageFiles is how many files of a manifest are read at once.
const pageFiles = 8192

// Manifest yields the files of a snapshot. It holds no connection while its consumer
// works: a manifest does not change, and one that was collected meanwhile is not found.
func (s *Store) Manifest(ctx context.Context, id store.CodebaseID, number uint64) iter.Seq2[store.FileEntry, error] {
	return func(yield func(store.FileEntry, error) bool) {
		count, after, first := 0, "", true
		for {
			var page []store.FileEntry
			var n rules.Snapshot
			err := s.look(ctx, func(r rows) (err error) {
				if n, err = r.Snapshot(ctx, id, number); err != nil {
					return err
				}
				page, err = r.c.files(ctx, id, ` AND first <= $3 AND last > $3 AND (path > $4 OR $5) ORDER BY path LIMIT $6`,
					int64(number), blob(after), first, pageFiles)
				return err
			})
			count += len(page)
			if len(page) < pageFiles {
				err = rules.Complete(err, "manifest", n.Snapshot, count, n.Files)
			}
			if err != nil {
				yield(store.FileEntry{}, err)
				return
			}
			for _, f := range page {
				if !yield(f, nil) {
					return
				}
			}
			if len(page) < pageFiles {
				return
			}
			after, first = page[len(page)-1].Path, false
		}
	}
}

// File returns one file of a snapshot.
func (s *Store) File(ctx context.Context, id store.CodebaseID, number uint64, path string) (entry store.FileEntry, err error) {
	err = s.look(ctx, func(r rows) error {
		if _, err := r.Snapshot(ctx, id, number); err != nil {
			return err
		}
		files, err := r.c.files(ctx, id, " AND path = $3 AND first <= $4 AND last > $4", blob(path), int64(number))
		if err == nil && len(files) == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("file %q of snapshot %d: %w", path, number, err)
		}
		entry = files[0]
		return nil
	})
	return entry, err
}

// Delta returns what a snapshot changed against its base.
func (s *Store) Delta(ctx context.Context, id store.CodebaseID, number uint64) (upserted []store.FileEntry, removed []string, err error) {
	err = s.look(ctx, func(r rows) error {
		upserted, removed, err = rules.Delta(ctx, r, id, number)
		return err
	})
	return upserted, removed, err
}

// Pending lists the work of a snapshot.
func (s *Store) Pending(ctx context.Context, id store.CodebaseID, number uint64, recipe store.Recipe) (pending []store.PendingFile, err error) {
	err = s.look(ctx, func(r rows) error {
		pending, err = rules.Pending(ctx, r, id, number, recipe)
		return err
	})
	return pending, err
}

// openEnd is the end of the manifest rows of the latest snapshot.
const openEnd = math.MaxInt64

// EditManifest ends and adds rows.
func (r rows) EditManifest(ctx context.Context, n store.Snapshot, upserts []store.FileEntry, removes []string) (ended rules.Ended, err error) {
	if len(upserts)+len(removes) == 0 {
		return ended, nil
	}
	err = r.c.stage(ctx, stageFiles, len(upserts), func(i int) ([]any, error) {
		f := upserts[i]
		return []any{blob(f.Path), f.Content[:], f.Size, blob(f.Language), int16(f.Flags), blob(f.RenamedFrom)}, nil
	})
	if err != nil {
		return ended, err
	}
	if n.Parent > 0 {
		if ended, err = r.endFiles(ctx, n, removes); err != nil {
			return ended, fmt.Errorf("end rows of the manifest: %w", err)
		}
	}
	if len(upserts) == 0 {
		return ended, nil
	}
	_, err = r.c.exec(ctx, `INSERT INTO manifest (tenant, codebase, path, first, last, content, size, language, flags, renamed)
		SELECT $1, $2, path, $3, $4, content, size, language, flags, renamed FROM stage_files`,
		string(n.Codebase), int64(n.Number), int64(openEnd))
	if err != nil {
		return ended, fmt.Errorf("add rows to the manifest: %w", err)
	}
	return ended, nil
}

// endFiles ends the rows of the parent at the paths that are staged and at those removed.
func (r rows) endFiles(ctx context.Context, n store.Snapshot, removes []string) (ended rules.Ended, err error) {
	paths := make([][]byte, len(removes))
	for i, path := range removes {
		paths[i] = blob(path)
	}
	var files, removed int64
	_, err = r.c.one(ctx, `WITH ended AS (
			UPDATE manifest SET last = $3 WHERE tenant = $1 AND codebase = $2 AND last = $4
			AND path IN (SELECT path FROM stage_files UNION SELECT unnest($5::bytea[])) RETURNING path, size)
		SELECT count(*), coalesce(sum(size), 0)::bigint, count(*) FILTER (WHERE path NOT IN (SELECT path FROM stage_files)) FROM ended`,
		[]any{string(n.Codebase), int64(n.Number), int64(openEnd), paths}, &files, &ended.Bytes, &removed)
	ended.Files, ended.Removed = int(files), int(removed)
	r.c.written += files
	return ended, err
}

// Upserted lists the files of a snapshot that began after its base.
func (r rows) Upserted(ctx context.Context, n store.Snapshot) ([]store.FileEntry, error) {
	return r.c.files(ctx, n.Codebase, " AND first > $3 AND first <= $4 AND last > $4 ORDER BY path", int64(n.Base), int64(n.Number))
}

// Removed lists the paths of a snapshot's base that it does not have.
func (r rows) Removed(ctx context.Context, n store.Snapshot) (paths []string, err error) {
	err = r.c.each(ctx, `SELECT path FROM manifest AS gone
		WHERE tenant = $1 AND codebase = $2 AND last > $3 AND last <= $4 AND last < 9223372036854775807 AND first <= $3
		AND NOT EXISTS (SELECT FROM manifest AS kept WHERE kept.tenant = $1 AND kept.codebase = $2
			AND kept.path = gone.path AND kept.first <= $4 AND kept.last > $4)
		ORDER BY path`, []any{string(n.Codebase), int64(n.Base), int64(n.Number)}, func(rows pgx.Rows) error {
		var path []byte
		err := rows.Scan(&path)
		paths = append(paths, string(path))
		return err
	})
	return paths, err
}

// Progress returns which keys have a syntax and which are marked.
func (r rows) Progress(ctx context.Context, embedding string, keys []store.SyntaxKey) (chunked, embedded map[store.SyntaxKey]bool, err error) {
	if chunked, err = r.s.hasSyntax(ctx, r.c, keys); err != nil {
		return nil, nil, err
	}
	embedded, err = r.s.hasEmbedded(ctx, r.c, embedding, keys)
	return chunked, embedded, err
}
