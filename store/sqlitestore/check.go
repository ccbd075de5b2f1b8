package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/checksum"
	"github.com/freshet/freshet/store/rules"
	"github.com/freshet/freshet/sync/merkle"
)

// maxFindings is how many faults Check names.
const maxFindings = 10

// Check verifies the structure of the database, the checksum of every row, the hash of
// every content, and every segment. It names the first faults it finds.
func (s *Store) Check(ctx context.Context) error {
	return s.check(ctx, s.checkPages, s.checkRows, s.checkContents, s.checkSyntaxes, s.checkVectors, s.checkSegments)
}

// CheckDatabase checks what is on disk, whatever this store has in memory of it: the same as
// Check without the segments, which are made again from the database.
func (s *Store) CheckDatabase(ctx context.Context) error {
	if err := s.CheckPresence(); err != nil {
		return err
	}
	return examine(s.dir, func(disk *Store) error {
		return disk.check(ctx, disk.checkPages, disk.checkRows, disk.checkContents, disk.checkSyntaxes, disk.checkVectors)
	})
}

// CheckSegments checks the files of the segments on disk, whatever this store has open of
// them.
func (s *Store) CheckSegments(ctx context.Context) error {
	return examine(s.dir, func(disk *Store) error { return disk.check(ctx, disk.checkSegments) })
}

// CheckPresence returns an error that wraps store.ErrCorrupt when the database or its
// write-ahead log was removed or replaced by another file while it is open: what is written
// goes to a file without a name.
func (s *Store) CheckPresence() error {
	for name, opened := range s.opened {
		there, err := os.Lstat(name)
		if err == nil && os.SameFile(opened, there) || s.closed.Load() {
			continue
		}
		return s.fault(fmt.Errorf("%s was removed or replaced while it was in use: %w", filepath.Base(name), store.ErrCorrupt))
	}
	return nil
}

// present looks at the files that CheckPresence compares with.
func (s *Store) present() error {
	s.opened = map[string]os.FileInfo{}
	for _, name := range []string{s.file(), s.file() + "-wal"} {
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		s.opened[name] = info
	}
	return nil
}

func (s *Store) check(ctx context.Context, steps ...func(context.Context, *session) error) error {
	return s.view(ctx, func(c *session) error {
		var findings []error
		for _, step := range steps {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := step(ctx, c); err != nil {
				findings = append(findings, err)
			}
		}
		if len(findings) == 0 {
			return nil
		}
		return fmt.Errorf("check: %w: %w", store.ErrCorrupt, errors.Join(findings[:min(len(findings), maxFindings)]...))
	})
}

// examineTries is how often a store that another process writes to is looked at before
// what is missing counts as damage: a segment may be collected while it is being read.
const examineTries = 3

// Examine checks the store in dir as Check does, without opening it for writing: another
// process may hold it, and it may be too damaged for Open. It returns an error that wraps
// store.ErrCorrupt, or nil, also for a directory without a store.
func Examine(ctx context.Context, dir string) error {
	return examine(dir, func(disk *Store) (err error) {
		steps := []func(context.Context, *session) error{
			disk.checkPages, disk.checkRows, disk.checkContents, disk.checkSyntaxes, disk.checkVectors, disk.checkSegments,
		}
		if old, err := disk.isVersion2(ctx); err != nil {
			return err
		} else if old { // the next process that opens it moves the rows, with those that are damaged
			steps = []func(context.Context, *session) error{disk.checkPages, disk.checkContents, disk.checkSyntaxes, disk.checkVectors}
		}
		for range examineTries {
			if err = disk.check(ctx, steps...); !errors.Is(err, store.ErrCorrupt) {
				return err
			}
		}
		return err
	})
}

// examine calls look with the store in dir, opened for reading only. A directory without a
// store is whole when it has no segments.
func examine(dir string, look func(disk *Store) error) (err error) {
	s := &Store{dir: dir, now: time.Now, log: slog.New(slog.DiscardHandler), turn: make(chan struct{}, 1)}
	info, err := os.Stat(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return s.fault(s.examineEmpty())
	}
	if err == nil && info.Size() == 0 {
		return s.fault(s.examineEmpty())
	}
	if err != nil {
		return err
	}
	if err := s.checkHeader(); err != nil {
		return s.fault(err)
	}
	if s.db, err = openReadOnly(dir); err != nil {
		return s.fault(err)
	}
	s.codec = newCodec()
	defer func() {
		s.idle.close()
		s.codec.close()
		err = firstError(err, s.db.Close())
	}()
	return look(s)
}

// isVersion2 reports whether the rows of a store that was not opened are those of version 2 of
// the schema.
func (s *Store) isVersion2(ctx context.Context) (old bool, err error) {
	err = s.view(ctx, func(c *session) error {
		var version int64
		_, err := c.one("PRAGMA user_version", nil, &version)
		old = version > 0 && version < columnsVersion
		return err
	})
	return old, err
}

// LogPosition reads what the store in dir knows of the event log, without opening it for
// writing. Of a store that waits for its migration it says nothing.
func LogPosition(ctx context.Context, dir string) (known store.LogPosition, err error) {
	s := &Store{dir: dir}
	if info, err := os.Stat(s.file()); err != nil || info.Size() == 0 {
		return known, ignoreMissing(err)
	}
	if s.db, err = openReadOnly(dir); err != nil {
		return known, s.fault(err)
	}
	defer func() {
		s.idle.close()
		err = firstError(err, s.db.Close())
	}()
	if old, err := s.isVersion2(ctx); err != nil || old {
		return known, err
	}
	return s.LogPosition(ctx)
}

// examineEmpty wants no segments beside a database that holds nothing.
func (s *Store) examineEmpty() error {
	segments, err := os.ReadDir(filepath.Join(s.dir, segmentDir))
	if err != nil || len(segments) == 0 {
		return ignoreMissing(err)
	}
	return fmt.Errorf("the database is empty and %d segments stand beside it: %w", len(segments), store.ErrCorrupt)
}

func (s *Store) checkPages(_ context.Context, c *session) error {
	var faults []string
	err := c.each("PRAGMA integrity_check(10)", nil, func(rows *sql.Rows) error {
		var line string
		err := rows.Scan(&line)
		if line != "ok" {
			faults = append(faults, line)
		}
		return err
	})
	if err == nil && len(faults) > 0 {
		err = fmt.Errorf("pages: %s", strings.Join(faults, "; "))
	}
	return err
}

// checkRows reads every row of the small tables and of the manifests and stat entries.
func (s *Store) checkRows(ctx context.Context, c *session) error {
	codebases, err := c.codebases("")
	if err != nil {
		return err
	}
	for _, b := range codebases {
		r := s.rowsOf(c)
		all, err := r.Snapshots(ctx, b.ID)
		if err != nil {
			return err
		}
		for _, n := range all {
			if err := r.check(ctx, b, n); err != nil {
				return err
			}
		}
		for _, err := range s.Stats(ctx, b.ID) {
			if err != nil {
				return fmt.Errorf("stat entries of codebase %s: %w", b.ID, err)
			}
		}
		if _, err := c.failures(b, ""); err != nil {
			return err
		}
	}
	if _, err := s.Outbox(ctx, 1<<30); err != nil {
		return err
	}
	if err := c.checkSessions(); err != nil {
		return err
	}
	_, err = c.position()
	return err
}

func (r *rows) check(ctx context.Context, b codebase, n rules.Snapshot) error {
	if _, err := r.Recipe(ctx, n.Fingerprint); err != nil {
		return err
	}
	count := 0
	err := r.c.eachFile("WHERE codebase = ? AND first <= ? AND last > ?", []any{b.key, int64(n.Number), int64(n.Number)},
		func(fileRow) error {
			count++
			return nil
		})
	if err := rules.Complete(err, "manifest", n.Snapshot, count, n.Files); err != nil {
		return err
	}
	if _, err := rules.Refs(ctx, r, n); err != nil {
		return err
	}
	return r.c.checkNamed(b, n)
}

// CheckContents looks for a file of a snapshot whose content is gone, without reading any.
func (s *Store) CheckContents(ctx context.Context, id store.CodebaseID, number uint64) error {
	return s.look(ctx, func(r *rows) error {
		n, err := r.Snapshot(ctx, id, number)
		if err != nil {
			return err
		}
		return r.c.checkNamed(r.known[id], n)
	})
}

// checkNamed looks for files of a snapshot without their content.
func (c *session) checkNamed(b codebase, n rules.Snapshot) error {
	return c.eachFile(`WHERE codebase = ? AND first <= ? AND last > ?
		AND NOT EXISTS (SELECT 1 FROM contents JOIN frames ON frame = frames.id WHERE hash = content)`,
		[]any{b.key, int64(n.Number), int64(n.Number)}, func(f fileRow) error {
			return fmt.Errorf("content %s of %q is gone: %w", f.Content.Short(), f.Path, store.ErrCorrupt)
		})
}

func (s *Store) checkContents(ctx context.Context, c *session) error {
	var hashes []merkle.Hash
	err := c.each("SELECT hash FROM contents", nil, func(rows *sql.Rows) error {
		var hash []byte
		if err := rows.Scan(&hash); err != nil || len(hash) != len(merkle.Hash{}) {
			return firstError(err, store.ErrCorrupt)
		}
		hashes = append(hashes, merkle.Hash(hash))
		return nil
	})
	if err != nil {
		return fmt.Errorf("list contents: %w", err)
	}
	for _, h := range hashes {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := s.content(c, h); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) checkSyntaxes(ctx context.Context, c *session) error {
	return c.each("SELECT content, version, texts, body FROM syntaxes", nil, func(rows *sql.Rows) error {
		var content, texts, body []byte
		var version int64
		if err := rows.Scan(&content, &version, &texts, &body); err != nil {
			return err
		}
		var h merkle.Hash
		copy(h[:], content)
		if _, err := s.decodeSyntax(c, h, version, texts, body); err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("syntax of %s: %w", h, err)
		}
		return ctx.Err()
	})
}

func (s *Store) checkVectors(ctx context.Context, c *session) error {
	err := c.each("SELECT embedding, text, body FROM vectors", nil, func(rows *sql.Rows) error {
		var embedding int64
		var text, body sql.RawBytes
		if err := rows.Scan(&embedding, &text, &body); err != nil {
			return err
		}
		var h merkle.Hash
		copy(h[:], text)
		if _, err := decodeVector(embedding, h, body); err != nil {
			return fmt.Errorf("vector of %s: %w", h, err)
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return c.each("SELECT embedding, syntax, body FROM embedded", nil, func(rows *sql.Rows) error {
		var embedding, syntax int64
		var body []byte
		if err := rows.Scan(&embedding, &syntax, &body); err != nil {
			return err
		}
		_, err := checksum.Cut(body, "embedded", number(embedding), number(syntax))
		return err
	})
}

// checkSegments reads every file again, whether or not it was verified before.
func (s *Store) checkSegments(ctx context.Context, c *session) error {
	all, err := c.segments()
	if err != nil {
		return err
	}
	for _, g := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f, data, err := mapFile(s.segmentPath(g.ref.ID), g.ref.Bytes)
		if err != nil {
			return fmt.Errorf("segment %d: %w", g.ref.ID, err)
		}
		whole := &mapping{id: g.ref.ID, file: f, data: data, sum: g.hash}
		if err := firstError(whole.check(), whole.unmap()); err != nil {
			return err
		}
	}
	return nil
}
