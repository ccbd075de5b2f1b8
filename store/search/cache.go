package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
)

// opened is an open segment with values that are computed from it once.
type opened struct {
	*segment.Segment
	id      store.SegmentID
	handle  store.Segment
	lengths []uint32 // weighted words by chunk
	traits  []atomic.Pointer[traits]
	users   int // guarded by cache.mu
}

// check asks a store whose segments are files that others can write to whether this one was
// changed since it was opened.
func (s *opened) check() error {
	if file, ok := s.handle.(interface{ Check() error }); ok {
		return file.Check()
	}
	return nil
}

// cache is an LRU cache of open segments. A segment is not evicted while a query uses it.
type cache struct {
	source  Source
	maxIdle int // unused segments that stay open

	mu     sync.Mutex                               // guards all below
	open   map[store.SegmentID]*opened              // used and idle ones
	idle   *simplelru.LRU[store.SegmentID, *opened] // without users, by their last release
	closed bool
}

func newCache(source Source, maxIdle int) *cache {
	idle, _ := simplelru.NewLRU[store.SegmentID, *opened](math.MaxInt, nil) // release evicts; fails for a size below 1 only
	return &cache{source: source, maxIdle: maxIdle, open: map[store.SegmentID]*opened{}, idle: idle}
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
		if err == nil {
			if err = s.check(); err != nil {
				err = errors.Join(err, c.release([]*opened{s}))
			}
		}
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
	s.users++
	c.idle.Remove(s.id)
}

// release ends the use of segments and closes the least recently used idle ones beyond the
// bound.
func (c *cache) release(segments []*opened) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range segments {
		if s.users--; s.users == 0 {
			c.idle.Add(s.id, s)
		}
	}
	var errs []error
	for c.idle.Len() > c.maxIdle || c.closed && c.idle.Len() > 0 {
		id, oldest, _ := c.idle.RemoveOldest()
		delete(c.open, id)
		errs = append(errs, oldest.handle.Close())
	}
	return errors.Join(errs...)
}

// close closes the idle segments, and has the others closed when they are released.
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
