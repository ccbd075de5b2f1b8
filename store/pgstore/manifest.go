package pgstore

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
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
func (c *session) files(ctx context.Context, id store.CodebaseID, condition string, args ...any) (files []store.FileEntry, err error) {
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
			var n snapshot
			err := s.view(ctx, func(c *session) (err error) {
				if n, err = c.snapshot(ctx, id, number); err != nil {
					return err
				}
				page, err = c.files(ctx, id, ` AND first <= $3 AND last > $3 AND (path > $4 OR $5) ORDER BY path LIMIT $6`,
					int64(number), blob(after), first, pageFiles)
				return err
			})
			count += len(page)
			if len(page) < pageFiles {
				err = complete(err, "manifest", n, count, n.Files)
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

// complete returns store.ErrCorrupt when rows of a snapshot are missing.
func complete(err error, what string, n snapshot, got, want int) error {
	if err == nil && got != want {
		err = fmt.Errorf("%d rows, want %d: %w", got, want, store.ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("%s of snapshot %d: %w", what, n.Number, err)
	}
	return nil
}

// File returns one file of a snapshot.
func (s *Store) File(ctx context.Context, id store.CodebaseID, number uint64, path string) (entry store.FileEntry, err error) {
	err = s.view(ctx, func(c *session) error {
		if _, err := c.snapshot(ctx, id, number); err != nil {
			return err
		}
		files, err := c.files(ctx, id, " AND path = $3 AND first <= $4 AND last > $4", blob(path), int64(number))
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
	err = s.view(ctx, func(c *session) error {
		n, err := c.snapshot(ctx, id, number)
		if err != nil {
			return err
		}
		if upserted, err = c.upserted(ctx, n); err != nil {
			return err
		}
		removed, err = c.removed(ctx, n)
		if err == nil && n.Base == n.Parent && n.Base > 0 {
			err = complete(nil, "delta", n, len(upserted)+len(removed), n.Changed)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return upserted, removed, nil
}

// upserted lists the files of a snapshot that began after its base.
func (c *session) upserted(ctx context.Context, n snapshot) ([]store.FileEntry, error) {
	files, err := c.files(ctx, n.Codebase, " AND first > $3 AND first <= $4 AND last > $4 ORDER BY path", int64(n.Base), int64(n.Number))
	if n.Base == 0 {
		return files, complete(err, "delta", n, len(files), n.Files)
	}
	return files, complete(err, "delta", n, 0, 0)
}

// removed lists the paths of a snapshot's base that it does not have.
func (c *session) removed(ctx context.Context, n snapshot) (paths []string, err error) {
	if n.Base == 0 {
		return nil, nil
	}
	err = c.each(ctx, `SELECT path FROM manifest AS gone
		WHERE tenant = $1 AND codebase = $2 AND last > $3 AND last <= $4 AND last < 9223372036854775807 AND first <= $3
		AND NOT EXISTS (SELECT FROM manifest AS kept WHERE kept.tenant = $1 AND kept.codebase = $2
			AND kept.path = gone.path AND kept.first <= $4 AND kept.last > $4)
		ORDER BY path`, []any{string(n.Codebase), int64(n.Base), int64(n.Number)}, func(rows pgx.Rows) error {
		var path []byte
		err := rows.Scan(&path)
		paths = append(paths, string(path))
		return err
	})
	return paths, complete(err, "delta", n, 0, 0)
}

// Pending lists the work of a snapshot.
func (s *Store) Pending(ctx context.Context, id store.CodebaseID, number uint64, recipe store.Recipe) (pending []store.PendingFile, err error) {
	err = s.view(ctx, func(c *session) error {
		n, err := c.snapshot(ctx, id, number)
		if err != nil {
			return err
		}
		pending, err = s.pending(ctx, c, n, recipe)
		return err
	})
	return pending, err
}

func (s *Store) pending(ctx context.Context, c *session, n snapshot, recipe store.Recipe) (pending []store.PendingFile, err error) {
	files, err := c.upserted(ctx, n)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	failures, err := c.failures(ctx, n.Codebase, selectFailures+" AND parked")
	if err != nil {
		return nil, err
	}
	rule := store.NewRule(recipe, failures)
	keys := make([]store.SyntaxKey, len(files))
	for i, f := range files {
		keys[i] = rule.Key(f)
	}
	chunked, err := s.hasSyntax(ctx, c, keys)
	if err != nil {
		return nil, err
	}
	embedded, err := s.hasEmbedded(ctx, c, rule.Embedding(), keys)
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

// lacking lists the work of a snapshot under its own recipe.
func (s *Store) lacking(ctx context.Context, c *session, n snapshot) ([]store.PendingFile, error) {
	recipe, err := c.recipe(ctx, n.Fingerprint)
	if err != nil {
		return nil, err
	}
	return s.pending(ctx, c, n, recipe)
}
