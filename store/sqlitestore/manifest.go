package sqlitestore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
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
func (c *session) eachFile(key int64, query string, args []any, fn func(store.FileEntry) error) error {
	return c.each(query, args, func(rows *sql.Rows) error {
		row := manifestRow{codebase: key}
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
		err := s.look(ctx, func(r *rows) error {
			n, err := r.Snapshot(ctx, id, number)
			if err != nil {
				return err
			}
			count := 0
			key := r.known[id].key
			err = r.c.eachFile(key, `SELECT path, first, last, body FROM manifest
				WHERE codebase = ? AND first <= ? AND last > ? ORDER BY path`, []any{key, int64(number), int64(number)},
				func(f store.FileEntry) error {
					if count++; !yield(f, nil) {
						return errStop
					}
					return ctx.Err()
				})
			return rules.Complete(err, "manifest", n.Snapshot, count, n.Files)
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(store.FileEntry{}, err)
		}
	}
}

// File returns one file of a snapshot.
func (s *Store) File(ctx context.Context, id store.CodebaseID, number uint64, path string) (entry store.FileEntry, err error) {
	err = s.look(ctx, func(r *rows) error {
		if _, err := r.Snapshot(ctx, id, number); err != nil {
			return err
		}
		found, key := false, r.known[id].key
		err = r.c.eachFile(key, "SELECT path, first, last, body FROM manifest WHERE codebase = ? AND path = ? AND first <= ? AND last > ?",
			[]any{key, blob(path), int64(number), int64(number)}, func(f store.FileEntry) error {
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
	err = s.look(ctx, func(r *rows) error {
		upserted, removed, err = rules.Delta(ctx, r, id, number)
		return err
	})
	return upserted, removed, err
}

// Pending lists the work of a snapshot.
func (s *Store) Pending(ctx context.Context, id store.CodebaseID, number uint64, recipe store.Recipe) (pending []store.PendingFile, err error) {
	err = s.look(ctx, func(r *rows) error {
		pending, err = rules.Pending(ctx, r, id, number, recipe)
		return err
	})
	return pending, err
}

// openEnd is the end of the manifest rows of the latest snapshot.
const openEnd = math.MaxInt64

// EditManifest ends and adds rows.
func (r *rows) EditManifest(ctx context.Context, n store.Snapshot, upserts []store.FileEntry, removes []string) (ended rules.Ended, err error) {
	b, err := r.codebase(n.Codebase)
	if err != nil {
		return ended, err
	}
	end := func(path string) (bool, error) {
		if n.Parent == 0 {
			return false, nil
		}
		size, found, err := r.c.endFile(b.key, path, int64(n.Number))
		if found {
			ended.Files++
			ended.Bytes += size
		}
		return found, err
	}
	for _, path := range removes {
		found, err := end(path)
		if err != nil {
			return ended, fmt.Errorf("remove %q: %w", path, err)
		}
		if found {
			ended.Removed++
		}
	}
	for i, f := range upserts {
		if i%1024 == 0 && ctx.Err() != nil {
			return ended, ctx.Err()
		}
		_, err := end(f.Path)
		if err == nil {
			row := manifestRow{codebase: b.key, path: blob(f.Path), first: int64(n.Number), last: openEnd}
			err = r.c.exec("INSERT INTO manifest (codebase, path, first, last, body) VALUES (?, ?, ?, ?, ?)",
				row.codebase, row.path, row.first, row.last, row.seal(f))
		}
		if err != nil {
			return ended, fmt.Errorf("upsert %q: %w", f.Path, err)
		}
	}
	return ended, nil
}

// endFile ends the row of a path with a snapshot, if the parent has the path, and returns
// the size of the file.
func (c *session) endFile(codebase int64, path string, number int64) (size int64, found bool, err error) {
	row := manifestRow{codebase: codebase, path: blob(path), last: openEnd}
	var body []byte
	found, err = c.one("SELECT first, body FROM manifest WHERE codebase = ? AND path = ? AND last = ?", []any{row.codebase, row.path, int64(openEnd)}, &row.first, &body)
	if err != nil || !found {
		return 0, false, err
	}
	f, err := row.open(body)
	if err != nil {
		return 0, false, err
	}
	row.last = number
	return f.Size, true, c.exec("UPDATE manifest SET last = ?, body = ? WHERE codebase = ? AND path = ? AND first = ?",
		row.last, row.seal(f), row.codebase, row.path, row.first)
}

// Upserted lists the files of a snapshot that began after its base.
func (r *rows) Upserted(_ context.Context, n store.Snapshot) (files []store.FileEntry, err error) {
	b, err := r.codebase(n.Codebase)
	if err != nil {
		return nil, err
	}
	query, args := `SELECT path, first, last, body FROM manifest INDEXED BY manifest_first
		WHERE codebase = ? AND first > ? AND first <= ? AND last > ? ORDER BY path`, []any{b.key, int64(n.Base), int64(n.Number), int64(n.Number)}
	if n.Base == 0 {
		query, args = `SELECT path, first, last, body FROM manifest
			WHERE codebase = ? AND first <= ? AND last > ? ORDER BY path`, []any{b.key, int64(n.Number), int64(n.Number)}
	}
	err = r.c.eachFile(b.key, query, args, func(f store.FileEntry) error {
		files = append(files, f)
		return nil
	})
	return files, err
}

// Removed lists the paths of a snapshot's base that it does not have.
func (r *rows) Removed(_ context.Context, n store.Snapshot) (paths []string, err error) {
	b, err := r.codebase(n.Codebase)
	if err != nil {
		return nil, err
	}
	err = r.c.each(`SELECT path, first, last, body FROM manifest AS gone INDEXED BY manifest_last
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
	return paths, err
}

// Progress returns which keys have a syntax and which of those are marked.
func (r *rows) Progress(ctx context.Context, embedding string, keys []store.SyntaxKey) (chunked, embedded map[store.SyntaxKey]bool, err error) {
	id, err := r.c.name(embedding)
	if err != nil {
		return nil, nil, err
	}
	chunked, embedded = make(map[store.SyntaxKey]bool, len(keys)), make(map[store.SyntaxKey]bool, len(keys))
	names := r.c.versions()
	for i, k := range keys {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		row, err := r.c.syntaxID(names, k)
		if err != nil {
			return nil, nil, err
		}
		chunked[k] = row != 0
		if embedded[k], err = r.c.embedded(id, row); err != nil {
			return nil, nil, err
		}
	}
	return chunked, embedded, nil
}
