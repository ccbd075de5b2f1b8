package sqlitestore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/freshet/freshet/store"
)

// manifestRow is the key of a row of the manifest, with its end. A row whose value is
// empty is a tombstone: it says only that the path ended, for the delta of a snapshot
// whose base was collected.
type manifestRow struct {
	codebase    int64
	path        []byte
	first, last int64
}

func (m manifestRow) seal(f store.FileEntry) []byte {
	var w writer
	w.file(f)
	return m.sealValue(w.buf)
}

func (m manifestRow) sealValue(value []byte) []byte {
	return seal(value, "manifest", number(m.codebase), m.path, number(m.first), number(m.last))
}

func (m manifestRow) value(body []byte) ([]byte, error) {
	return unseal(body, "manifest", number(m.codebase), m.path, number(m.first), number(m.last))
}

func (m manifestRow) open(body []byte) (store.FileEntry, error) {
	value, err := m.value(body)
	if err != nil {
		return store.FileEntry{}, err
	}
	r := reader{buf: value}
	f := r.file(string(m.path))
	return f, r.end("manifest row")
}

// errStop ends an iteration whose consumer has enough.
var errStop = errors.New("stop")

// eachFile calls fn for the files of a query for path, first, last and body.
func (c *session) eachFile(b codebase, query string, args []any, fn func(store.FileEntry) error) error {
	return c.each(query, args, func(rows *sql.Rows) error {
		row := manifestRow{codebase: b.key}
		var path, body sql.RawBytes
		if err := rows.Scan(&path, &row.first, &row.last, &body); err != nil {
			return err
		}
		row.path = path
		f, err := row.open(body)
		if err != nil {
			return err
		}
		return fn(f)
	})
}

// Manifest yields the files of a snapshot.
func (s *Store) Manifest(ctx context.Context, id store.CodebaseID, number uint64) iter.Seq2[store.FileEntry, error] {
	return func(yield func(store.FileEntry, error) bool) {
		err := s.view(ctx, func(c *session) error {
			b, n, err := c.snapshot(id, number)
			if err != nil {
				return err
			}
			count := 0
			err = c.eachFile(b, `SELECT path, first, last, body FROM manifest
				WHERE codebase = ? AND first <= ? AND last > ? ORDER BY path`, []any{b.key, int64(number), int64(number)},
				func(f store.FileEntry) error {
					if count++; !yield(f, nil) {
						return errStop
					}
					return ctx.Err()
				})
			return complete(err, "manifest", n, count, n.Files)
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(store.FileEntry{}, err)
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
		b, _, err := c.snapshot(id, number)
		if err != nil {
			return err
		}
		found := false
		err = c.eachFile(b, "SELECT path, first, last, body FROM manifest WHERE codebase = ? AND path = ? AND first <= ? AND last > ?",
			[]any{b.key, blob(path), int64(number), int64(number)}, func(f store.FileEntry) error {
				entry, found = f, true
				return nil
			})
		if err == nil && !found {
			err = store.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("file %q of snapshot %d: %w", path, number, err)
		}
		return nil
	})
	return entry, err
}

// Delta returns what a snapshot changed against its base.
func (s *Store) Delta(ctx context.Context, id store.CodebaseID, number uint64) (upserted []store.FileEntry, removed []string, err error) {
	err = s.view(ctx, func(c *session) error {
		b, n, err := c.snapshot(id, number)
		if err != nil {
			return err
		}
		if upserted, err = c.upserted(b, n); err != nil {
			return err
		}
		removed, err = c.removed(b, n)
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
func (c *session) upserted(b codebase, n snapshot) (files []store.FileEntry, err error) {
	query, args := `SELECT path, first, last, body FROM manifest INDEXED BY manifest_first
		WHERE codebase = ? AND first > ? AND first <= ? AND last > ? ORDER BY path`, []any{b.key, int64(n.Base), int64(n.Number), int64(n.Number)}
	if n.Base == 0 {
		query, args = `SELECT path, first, last, body FROM manifest
			WHERE codebase = ? AND first <= ? AND last > ? ORDER BY path`, []any{b.key, int64(n.Number), int64(n.Number)}
	}
	err = c.eachFile(b, query, args, func(f store.FileEntry) error {
		files = append(files, f)
		return nil
	})
	if n.Base == 0 {
		return files, complete(err, "delta", n, len(files), n.Files)
	}
	return files, complete(err, "delta", n, 0, 0)
}

// removed lists the paths of a snapshot's base that it does not have.
func (c *session) removed(b codebase, n snapshot) (paths []string, err error) {
	if n.Base == 0 {
		return nil, nil
	}
	err = c.each(`SELECT path, first, last, body FROM manifest AS gone INDEXED BY manifest_last
		WHERE codebase = ?1 AND last > ?2 AND last <= ?3 AND last < 9223372036854775807 AND first <= ?2
		AND NOT EXISTS (SELECT 1 FROM manifest AS kept
			WHERE kept.codebase = ?1 AND kept.path = gone.path AND kept.first <= ?3 AND kept.last > ?3)
		ORDER BY path`, []any{b.key, int64(n.Base), int64(n.Number)}, func(rows *sql.Rows) error {
		row := manifestRow{codebase: b.key}
		var path, body sql.RawBytes
		if err := rows.Scan(&path, &row.first, &row.last, &body); err != nil {
			return err
		}
		row.path = bytes.Clone(path)
		if _, err := row.value(body); err != nil {
			return err
		}
		paths = append(paths, string(path))
		return nil
	})
	return paths, complete(err, "delta", n, 0, 0)
}

// Pending lists the work of a snapshot.
func (s *Store) Pending(ctx context.Context, id store.CodebaseID, number uint64, recipe store.Recipe) (pending []store.PendingFile, err error) {
	err = s.view(ctx, func(c *session) error {
		b, n, err := c.snapshot(id, number)
		if err != nil {
			return err
		}
		files, err := c.upserted(b, n)
		if err != nil {
			return err
		}
		pending, err = c.pending(ctx, b, files, recipe)
		return err
	})
	return pending, err
}

func (c *session) pending(ctx context.Context, b codebase, files []store.FileEntry, recipe store.Recipe) ([]store.PendingFile, error) {
	if len(files) == 0 {
		return nil, nil
	}
	failures, err := c.failures(b, "")
	if err != nil {
		return nil, err
	}
	rule := store.NewRule(recipe, failures)
	embedding, err := c.name(rule.Embedding())
	if err != nil {
		return nil, err
	}
	var pending []store.PendingFile
	names := c.versions()
	for i, f := range files {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row, err := c.syntaxID(names, rule.Key(f))
		if err != nil {
			return nil, err
		}
		done, err := c.embedded(embedding, row)
		if err != nil {
			return nil, err
		}
		if standing := rule.Standing(f, row != 0, done); !standing.Settled() {
			pending = append(pending, store.PendingFile{FileEntry: f, Stage: standing.Lacks})
		}
	}
	return pending, nil
}

// lacking lists the work of a snapshot under its own recipe.
func (c *session) lacking(ctx context.Context, b codebase, n snapshot) ([]store.PendingFile, error) {
	recipe, err := c.recipe(n.Fingerprint)
	if err != nil {
		return nil, err
	}
	files, err := c.upserted(b, n)
	if err != nil {
		return nil, err
	}
	return c.pending(ctx, b, files, recipe)
}
