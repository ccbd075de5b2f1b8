package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"

	"github.com/freshet/freshet/store"
)

// segment is a row of the table of segments.
type segment struct {
	ref   store.SegmentRef
	hash  uint64 // of the file
	putAt int64
}

// eachSegment calls fn for the segments that a condition selects.
func (c *session) eachSegment(condition string, args []any, fn func(g segment)) error {
	r := newRecord("segments", segmentColumns)
	return c.each("SELECT "+segmentColumns+" FROM segments"+condition, args, func(rows *sql.Rows) error {
		if err := r.scan(rows); err != nil {
			return err
		}
		fn(r.segment())
		return r.end()
	})
}

func (c *session) segment(id store.SegmentID) (g segment, err error) {
	err = c.eachSegment(" WHERE id = ?", []any{int64(id)}, func(found segment) { g = found })
	if err == nil && g.ref.ID == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return g, fmt.Errorf("segment %d: %w", id, err)
	}
	return g, nil
}

func (c *session) segments() (all []segment, err error) {
	if err := c.eachSegment("", nil, func(g segment) { all = append(all, g) }); err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	return all, nil
}

var putSegment = put("segments", segmentColumns, 1)

func (c *session) putSegment(g segment) error {
	var w columns
	w.segment(g)
	return c.exec(putSegment, w.summed("segments")...)
}

// Segments returns those of the segments that exist.
func (r *rows) Segments(_ context.Context, ids []store.SegmentID) (map[store.SegmentID]store.SegmentRef, error) {
	known := make(map[store.SegmentID]store.SegmentRef, len(ids))
	for _, id := range ids {
		g, err := r.c.segment(id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		known[id] = g.ref
	}
	return known, nil
}

// EndGraceOfSegments ends the grace of those segments that exist.
func (r *rows) EndGraceOfSegments(_ context.Context, ids []store.SegmentID) error {
	for _, id := range ids {
		g, err := r.c.segment(id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		g.putAt = 0
		if err := r.c.putSegment(g); err != nil {
			return fmt.Errorf("age segment %d: %w", id, err)
		}
	}
	return nil
}

const segmentSuffix = ".seg"

func (s *Store) segmentPath(id store.SegmentID) string {
	return filepath.Join(s.dir, segmentDir, strconv.FormatUint(uint64(id), 10)+segmentSuffix)
}

// PutSegment writes a segment beside the database. The file is durable under its name
// before the row that speaks of it is committed.
func (s *Store) PutSegment(ctx context.Context, id store.CodebaseID, files, chunks int, data []byte) (made store.SegmentID, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	temporary, err := s.writeTemporary(data)
	if err != nil {
		return 0, fmt.Errorf("put segment: %w", s.fault(err))
	}
	renamed := false
	err = s.write(ctx, func(c *session) error {
		if _, err := c.codebase(id); err != nil {
			return err
		}
		result, err := c.change("INSERT INTO segments (files, chunks, bytes, hash, put_at, sum) VALUES (0, 0, 0, 0, 0, 0)")
		if err != nil {
			return err
		}
		row, err := result.LastInsertId()
		if err != nil {
			return err
		}
		g := segment{
			ref:  store.SegmentRef{ID: store.SegmentID(row), Files: files, Chunks: chunks, Bytes: int64(len(data))},
			hash: xxhash.Sum64(data), putAt: s.now().UnixNano(),
		}
		if err := c.putSegment(g); err != nil {
			return err
		}
		if err := os.Rename(temporary, s.segmentPath(g.ref.ID)); err != nil {
			return err
		}
		made, renamed = g.ref.ID, true
		return syncDirectory(filepath.Join(s.dir, segmentDir))
	})
	if err != nil {
		if renamed {
			temporary = s.segmentPath(made)
		}
		return 0, fmt.Errorf("put segment: %w", errors.Join(err, os.Remove(temporary)))
	}
	return made, nil
}

// writeTemporary writes and syncs a file whose name marks it as unfinished.
func (s *Store) writeTemporary(data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, segmentDir), "unfinished-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	err = firstError(err, f.Sync(), f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func syncDirectory(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return firstError(d.Sync(), d.Close())
}

// sweepSegments removes files of segments that have no row. The caller keeps writers out.
// Unfinished files are removed only when nobody can be writing one.
func (s *Store) sweepSegments(c *session, unfinished bool) error {
	all, err := c.segments()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, g := range all {
		known[filepath.Base(s.segmentPath(g.ref.ID))] = true
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, segmentDir))
	if err != nil {
		return fmt.Errorf("list files of segments: %w", err)
	}
	for _, e := range entries {
		if known[e.Name()] || (!unfinished && !strings.HasSuffix(e.Name(), segmentSuffix)) {
			continue
		}
		if err := os.Remove(filepath.Join(s.dir, segmentDir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove orphan: %w", err)
		}
	}
	return nil
}

// mappedSegments are the segments that readers hold, and those found whole in this life
// of the process.
type mappedSegments struct {
	mu       sync.Mutex // guards what follows
	open     map[store.SegmentID]*mapping
	verified map[store.SegmentID]unix.Stat_t // as they were then
}

// mapping is a mapped file. It is unmapped when its last reader closes it.
type mapping struct {
	id    store.SegmentID
	file  *os.File
	data  []byte
	sum   uint64
	seen  unix.Stat_t // of the file when its checksum was taken
	users int
}

// check looks whether the file was changed since its checksum was taken, and takes that again
// then. The file is open, so that one that was collected stays whole.
func (p *mapping) check() error {
	var now unix.Stat_t
	if err := unix.Fstat(int(p.file.Fd()), &now); err != nil {
		return fmt.Errorf("segment %d: %w", p.id, err)
	}
	if now.Size == p.seen.Size && now.Mtim == p.seen.Mtim && now.Ctim == p.seen.Ctim {
		return nil
	}
	sum := xxhash.New()
	n, err := io.Copy(sum, io.NewSectionReader(p.file, 0, now.Size)) // the mapping faults where the file was cut short
	if err != nil {
		return fmt.Errorf("segment %d: %w", p.id, err)
	}
	if n != int64(len(p.data)) || sum.Sum64() != p.sum {
		return fmt.Errorf("segment %d: %w: %w", p.id, store.ErrCorrupt, store.ErrChecksum)
	}
	p.seen = now
	return nil
}

// OpenSegment maps a segment. Its checksum is verified when the process first opens it.
func (s *Store) OpenSegment(ctx context.Context, id store.SegmentID) (opened store.Segment, err error) {
	err = s.view(ctx, func(c *session) error {
		g, err := c.segment(id)
		if err != nil {
			return err
		}
		opened, err = s.mapped.take(g, s.segmentPath(id))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		// The read saw the row of a segment that was collected meanwhile?
		gone := s.view(ctx, func(c *session) error {
			_, err := c.segment(id)
			return err
		})
		return nil, firstError(gone, err)
	}
	if err != nil {
		return nil, err
	}
	return opened, nil
}

func (m *mappedSegments) take(g segment, path string) (*openSegment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held, ok := m.open[g.ref.ID]
	if !ok {
		held = &mapping{id: g.ref.ID, sum: g.hash, seen: m.verified[g.ref.ID]}
		var err error
		if held.file, held.data, err = mapFile(path, g.ref.Bytes); err != nil {
			return nil, fmt.Errorf("segment %d: %w", g.ref.ID, err)
		}
		if err := held.check(); err != nil {
			return nil, errors.Join(err, held.unmap())
		}
		m.open[g.ref.ID] = held
	} else if err := held.check(); err != nil {
		return nil, err
	}
	m.verified[g.ref.ID] = held.seen
	held.users++
	return &openSegment{all: m, mapping: held}, nil
}

// mapFile opens and maps a file of the size given.
func mapFile(path string, size int64) (f *os.File, data []byte, err error) {
	f, err = os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("its file is gone: %w: %w", store.ErrCorrupt, err)
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() != size {
		return nil, nil, fmt.Errorf("%d bytes, want %d: %w: %w", info.Size(), size, store.ErrCorrupt, store.ErrChecksum)
	}
	if size == 0 {
		return f, nil, nil
	}
	data, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map: %w", err)
	}
	return f, data, nil
}

func (p *mapping) unmap() error {
	err := p.file.Close()
	if p.data == nil {
		return err
	}
	return errors.Join(unix.Munmap(p.data), err)
}

// openSegment is one reader's hold on a mapping.
type openSegment struct {
	all     *mappedSegments
	mapping *mapping
	once    sync.Once
}

// Bytes returns the mapped file.
func (o *openSegment) Bytes() []byte { return o.mapping.data }

// Check returns an error that wraps store.ErrCorrupt when the file was changed under its
// readers. It costs a look at the file's times.
func (o *openSegment) Check() error {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	return o.mapping.check()
}

// Close gives the hold back.
func (o *openSegment) Close() (err error) {
	o.once.Do(func() {
		o.all.mu.Lock()
		defer o.all.mu.Unlock()
		if o.mapping.users--; o.mapping.users == 0 {
			delete(o.all.open, o.mapping.id)
			err = o.mapping.unmap()
		}
	})
	return err
}
