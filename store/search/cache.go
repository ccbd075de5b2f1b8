package search

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
)

// opened is a segment in the cache, with what is computed of it once.
type opened struct {
	*segment.Segment
	id      store.SegmentID
	handle  store.Segment
	lengths []uint32 // weighted words by chunk
	traits  []atomic.Pointer[traits]
	users   int    // guarded by cache.mu
	used    uint64 // guarded by cache.mu
}

// cache keeps the segments that recent queries used open.
type cache struct {
	source Source
	idle   int

	mu     sync.Mutex
	open   map[store.SegmentID]*opened
	clock  uint64
	closed bool
}

// acquire returns the segments of a view in order. They stay open until release.
func (c *cache) acquire(ctx context.Context, view store.View) ([]*opened, error) {
	segments := make([]*opened, 0, len(view.Segments))
	for _, ref := range view.Segments {
		s, err := c.get(ctx, ref.ID)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open segment %d: %w", ref.ID, err), c.release(segments))
		}
		segments = append(segments, s)
	}
	return segments, nil
}

func (c *cache) get(ctx context.Context, id store.SegmentID) (*opened, error) {
	if s, err := c.lookup(id); s != nil || err != nil {
		return s, err
	}
	handle, err := c.source.OpenSegment(ctx, id)
	if err != nil {
		return nil, err
	}
	reader, err := segment.Open(handle.Bytes())
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	s := &opened{Segment: reader, id: id, handle: handle, lengths: lengths(reader), traits: make([]atomic.Pointer[traits], reader.Files())}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.Join(store.ErrClosed, handle.Close())
	}
	if other := c.open[id]; other != nil { // another query was faster
		if err := handle.Close(); err != nil {
			return nil, err
		}
		s = other
	}
	c.open[id] = s
	c.use(s)
	return s, nil
}

func (c *cache) lookup(id store.SegmentID) (*opened, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, store.ErrClosed
	}
	s := c.open[id]
	if s != nil {
		c.use(s)
	}
	return s, nil
}

// use counts a user; c.mu is held.
func (c *cache) use(s *opened) {
	c.clock++
	s.users++
	s.used = c.clock
}

// release gives segments back, and closes the idle ones that are beyond the bound, least
// recently used first.
func (c *cache) release(segments []*opened) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range segments {
		s.users--
	}
	var errs []error
	for {
		idle, oldest := 0, (*opened)(nil)
		for _, s := range c.open {
			if s.users == 0 {
				idle++
				if oldest == nil || s.used < oldest.used {
					oldest = s
				}
			}
		}
		if oldest == nil || idle <= c.idle && !c.closed {
			return errors.Join(errs...)
		}
		delete(c.open, oldest.id)
		errs = append(errs, oldest.handle.Close())
	}
}

// close closes what is idle now, and the rest when it is released.
func (c *cache) close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.release(nil)
}

// lengths computes the weighted number of words of every chunk.
func lengths(s *segment.Segment) []uint32 {
	out := make([]uint32, s.Chunks())
	for file := range s.Files() {
		path := PathWeight * s.PathTokens(file)
		first, end := s.FileChunks(file)
		for chunk := first; chunk < end; chunk++ {
			body, _ := s.ChunkTokens(chunk)
			out[chunk] = uint32(body + path)
		}
	}
	return out
}
