package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/rules"
)

// errStop ends an iteration whose consumer has enough.
var errStop = errors.New("stop")

// eachFile calls fn for the rows of the manifest that a condition selects.
func (c *session) eachFile(condition string, args []any, fn func(fileRow) error) error {
	r := newRecord("manifest", fileColumns)
	return c.each("SELECT "+fileColumns+" FROM manifest "+condition, args, func(rows *sql.Rows) error {
		if err := r.scan(rows); err != nil {
			return err
		}
		f := r.file()
		if err := r.end(); err != nil {
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
			err = r.c.eachFile("WHERE codebase = ? AND first <= ? AND last > ? ORDER BY path", []any{key, int64(number), int64(number)},
				func(f fileRow) error {
					if count++; !yield(f.FileEntry, nil) {
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
		err = r.c.eachFile("WHERE codebase = ? AND path = ? AND first <= ? AND last > ?",
			[]any{key, blob(path), int64(number), int64(number)}, func(f fileRow) error {
				entry, found = f.FileEntry, true
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
			err = r.c.putFile(b.key, fileRow{FileEntry: f, first: int64(n.Number), last: openEnd})
		}
		if err != nil {
			return ended, fmt.Errorf("upsert %q: %w", f.Path, err)
		}
	}
	return ended, nil
}

// endFile ends the row of a path with a snapshot, if the parent has the path, and returns
// the size of the file.
func (c *session) endFile(key int64, path string, number int64) (size int64, found bool, err error) {
	var f fileRow
	err = c.eachFile("WHERE codebase = ? AND path = ? AND last = ?", []any{key, blob(path), int64(openEnd)}, func(one fileRow) error {
		f, found = one, true
		return nil
	})
	if err != nil || !found {
		return 0, false, err
	}
	f.last = number
	return f.Size, true, c.changeFile(key, f)
}

var putFile = put("manifest", fileColumns, 3)

func (c *session) putFile(key int64, f fileRow) error {
	var w columns
	w.file(key, f)
	return c.exec(putFile, w.summed("manifest")...)
}

// changeFile writes a row that exists.
func (c *session) changeFile(key int64, f fileRow) error {
	var w columns
	w.file(key, f)
	return c.exec(`UPDATE manifest SET last = ?4, content = ?5, size = ?6, language = ?7, flags = ?8, renamed = ?9, sum = ?10
		WHERE codebase = ?1 AND path = ?2 AND first = ?3`, w.summed("manifest")...)
}

// Upserted lists the files of a snapshot that began after its base.
func (r *rows) Upserted(_ context.Context, n store.Snapshot) (files []store.FileEntry, err error) {
	b, err := r.codebase(n.Codebase)
	if err != nil {
		return nil, err
	}
	condition, args := `INDEXED BY manifest_first
		WHERE codebase = ? AND first > ? AND first <= ? AND last > ? ORDER BY path`, []any{b.key, int64(n.Base), int64(n.Number), int64(n.Number)}
	if n.Base == 0 {
		condition, args = "WHERE codebase = ? AND first <= ? AND last > ? ORDER BY path", []any{b.key, int64(n.Number), int64(n.Number)}
	}
	err = r.c.eachFile(condition, args, func(f fileRow) error {
		files = append(files, f.FileEntry)
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
	err = r.c.eachFile(`AS gone INDEXED BY manifest_last
		WHERE codebase = ?1 AND last > ?2 AND last <= ?3 AND last < 9223372036854775807 AND first <= ?2
		AND NOT EXISTS (SELECT 1 FROM manifest AS kept
			WHERE kept.codebase = ?1 AND kept.path = gone.path AND kept.first <= ?3 AND kept.last > ?3)
		ORDER BY path`, []any{b.key, int64(n.Base), int64(n.Number)}, func(f fileRow) error {
		paths = append(paths, f.Path)
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
