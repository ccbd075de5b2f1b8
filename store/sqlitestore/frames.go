package sqlitestore

import (
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// frameSize is how many bytes of contents are compressed together. Source files are small,
// and neighbours are alike: moby's contents take 22.4 MB in frames of this size and 27.1 MB
// one by one. A content that is larger has a frame of its own.
const frameSize = 64 << 10

// frame is a run of contents, compressed as one.
type frame struct {
	size    int // of the members together
	data    []byte
	members []member
}

// member is a content in a frame.
type member struct {
	hash        merkle.Hash
	start, size int
}

// framePacker gathers contents into frames.
type framePacker struct {
	raw     []byte
	members []member
	frames  []frame
}

func (p *framePacker) add(k codec, h merkle.Hash, data []byte) {
	if len(p.raw) > 0 && len(p.raw)+len(data) > frameSize {
		p.close(k)
	}
	p.members = append(p.members, member{h, len(p.raw), len(data)})
	p.raw = append(p.raw, data...)
}

func (p *framePacker) close(k codec) {
	p.frames = append(p.frames, frame{len(p.raw), k.pack(p.raw), p.members})
	p.raw, p.members = p.raw[:0], nil
}

func (p *framePacker) finish(k codec) []frame {
	if len(p.members) > 0 {
		p.close(k)
	}
	return p.frames
}

func (c *session) insertFrame(f frame) (int64, error) {
	result, err := c.change("INSERT INTO frames (size, data) VALUES (?, ?)", f.size, f.data)
	if err != nil {
		return 0, fmt.Errorf("put frame: %w", err)
	}
	id, err := result.LastInsertId()
	if err != nil {
		return 0, fmt.Errorf("put frame: %w", err)
	}
	return id, nil
}

// framed returns a copy of what the frame of a content holds in its place.
func (s *Store) framed(c *session, h merkle.Hash) ([]byte, error) {
	var id int64
	var start, size int
	found, err := c.one("SELECT frame, start, size FROM contents WHERE hash = ?", []any{h[:]}, &id, &start, &size)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, store.ErrNotFound
	}
	raw, err := s.unpackFrame(c, id)
	if err != nil {
		return nil, err
	}
	if start < 0 || size < 0 || start > len(raw) || size > len(raw)-start {
		return nil, fmt.Errorf("content lies beyond its frame: %w", store.ErrCorrupt)
	}
	return slices.Clone(raw[start : start+size]), nil
}

// unpackFrame returns what a frame holds, which is shared and must not be changed.
func (s *Store) unpackFrame(c *session, id int64) ([]byte, error) {
	if raw, ok := s.frames.get(id); ok {
		return raw, nil
	}
	var packed []byte
	found, err := c.one("SELECT data FROM frames WHERE id = ?", []any{id}, &packed)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("frame %d is gone: %w", id, store.ErrCorrupt)
	}
	raw, err := s.codec.unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("frame %d: %w", id, err)
	}
	if c != s.writer { // whose transaction may be undone, and the id given again
		s.frames.put(id, raw)
	}
	return raw, nil
}

// frameCache keeps the frames that were unpacked last: a worker reads contents in the order
// of their paths, which is about the order of the scan that packed them. The zero value
// works.
type frameCache struct {
	mu     sync.Mutex // guards ids, frames
	ids    []int64    // oldest first
	frames map[int64][]byte
}

// cachedFrames bounds the cache, to 2 MiB with frames of frameSize.
const cachedFrames = 32

func (f *frameCache) get(id int64) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, ok := f.frames[id]
	return raw, ok
}

func (f *frameCache) put(id int64, raw []byte) {
	if len(raw) > frameSize {
		return // of one content
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.frames[id]; ok {
		return
	}
	if f.frames == nil {
		f.frames = make(map[int64][]byte, cachedFrames)
	}
	if len(f.ids) == cachedFrames {
		delete(f.frames, f.ids[0])
		f.ids = slices.Delete(f.ids, 0, 1)
	}
	f.ids = append(f.ids, id)
	f.frames[id] = raw
}

// sweepFrames removes the frames of which no content is left, and packs what is left of
// those that are mostly gaps into new ones.
func (s *Store) sweepFrames(c *session) error {
	live := map[int64]int{}
	err := c.each("SELECT frame, size FROM contents", nil, func(rows *sql.Rows) error {
		var id int64
		var size int
		err := rows.Scan(&id, &size)
		live[id] += size
		return err
	})
	if err != nil {
		return fmt.Errorf("list contents: %w", err)
	}
	var gone, sparse []int64
	err = c.each("SELECT id, size FROM frames", nil, func(rows *sql.Rows) error {
		var id int64
		var size int
		err := rows.Scan(&id, &size)
		switch bytes, named := live[id]; {
		case !named:
			gone = append(gone, id)
		case 2*bytes < size:
			sparse = append(sparse, id)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list frames: %w", err)
	}
	kept, err := s.repack(c, sparse)
	if err != nil {
		return err
	}
	for _, id := range append(gone, kept...) {
		if err := c.exec("DELETE FROM frames WHERE id = ?", id); err != nil {
			return fmt.Errorf("sweep frame: %w", err)
		}
	}
	return nil
}

// repack moves the contents of frames to new ones and returns the frames that are empty
// then. What cannot be read back stays where it is.
func (s *Store) repack(c *session, sparse []int64) (emptied []int64, err error) {
	var packer framePacker
	for _, id := range sparse {
		raw, err := s.unpackFrame(c, id)
		if err != nil {
			s.log.Warn("frame of contents stays as it is", "frame", id, "error", err)
			continue
		}
		err = c.each("SELECT hash, start, size FROM contents WHERE frame = ? ORDER BY start", []any{id}, func(rows *sql.Rows) error {
			var hash sql.RawBytes
			var start, size int
			if err := rows.Scan(&hash, &start, &size); err != nil {
				return err
			}
			if len(hash) != len(merkle.Hash{}) || start < 0 || size < 0 || start > len(raw) || size > len(raw)-start {
				return store.ErrCorrupt
			}
			packer.add(s.codec, merkle.Hash(hash), raw[start:start+size])
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list contents of frame %d: %w", id, err)
		}
		emptied = append(emptied, id)
	}
	for _, f := range packer.finish(s.codec) {
		id, err := c.insertFrame(f)
		if err != nil {
			return nil, err
		}
		for _, m := range f.members {
			if err := c.exec("UPDATE contents SET frame = ?, start = ? WHERE hash = ?", id, m.start, m.hash[:]); err != nil {
				return nil, fmt.Errorf("move content %s: %w", m.hash.Short(), err)
			}
		}
	}
	return emptied, nil
}
