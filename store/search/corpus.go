package search

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/freshet/freshet/store"
)

// bitmap is a set of ordinals.
type bitmap []uint64

func newBitmap(n int) bitmap { return make(bitmap, (n+63)/64) }

func (b bitmap) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

func (b bitmap) set(i int) { b[i>>6] |= 1 << (i & 63) }

func (b bitmap) clear(i int) { b[i>>6] &^= 1 << (i & 63) }

func (b bitmap) setRange(from, to int) {
	for i := from; i < to; i++ {
		b.set(i)
	}
}

// any reports whether a number of a range is in the set.
func (b bitmap) any(from, to int) bool {
	for i := from; i < to; i++ {
		switch {
		case i&63 == 0 && b[i>>6] == 0:
			i |= 63 // the rest of the word
		case b.has(i):
			return true
		}
	}
	return false
}

func (b bitmap) count() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// part is a segment of a view. Its files and chunks have numbers in the view: their
// ordinals in the segment plus the bases.
type part struct {
	*opened
	fileBase, chunkBase int
}

// corpus is the files and chunks of a view, dead ones included in the numbers.
type corpus struct {
	parts         []part
	files, chunks int
	// liveFiles and liveChunks are what the snapshot has, liveChunkCount of them with
	// length weighted words together.
	liveFiles, liveChunks bitmap
	fileCount, liveCount  int
	length                uint64
	vectors               bool
}

func newCorpus(view store.View, segments []*opened) *corpus {
	c := &corpus{}
	for _, s := range segments {
		c.parts = append(c.parts, part{opened: s, fileBase: c.files, chunkBase: c.chunks})
		c.files += s.Files()
		c.chunks += s.Chunks()
		body, path, _ := s.Tokens()
		c.length += body + PathWeight*path
	}
	c.liveFiles, c.liveChunks = full(c.files), full(c.chunks)
	for i, ref := range view.Segments {
		c.removeDead(c.parts[i], ref.Dead)
	}
	c.fileCount, c.liveCount = c.liveFiles.count(), c.liveChunks.count()
	c.vectors = slices.ContainsFunc(c.parts, c.anyVector)
	return c
}

func full(n int) bitmap {
	b := newBitmap(n)
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n%64 != 0 {
		b[len(b)-1] = 1<<(n%64) - 1
	}
	return b
}

// removeDead removes the tombstones, the dead files of a segment, from the live sets and from
// the length.
func (c *corpus) removeDead(p part, dead []uint32) {
	for _, file := range dead {
		if int(file) >= p.Files() || !c.liveFiles.has(p.fileBase+int(file)) {
			continue
		}
		c.liveFiles.clear(p.fileBase + int(file))
		first, end := p.FileChunks(int(file))
		for chunk := first; chunk < end; chunk++ {
			c.liveChunks.clear(p.chunkBase + chunk)
			c.length -= uint64(p.lengths[chunk])
		}
	}
}

// anyVector reports whether a live chunk of a part has a vector.
func (c *corpus) anyVector(p part) bool {
	for chunk := range p.Chunks() {
		if p.HasVector(chunk) && c.liveChunks.has(p.chunkBase+chunk) {
			return true
		}
	}
	return false
}

// average is the mean weighted length of a live chunk.
func (c *corpus) average() float64 {
	return max(1, float64(c.length)) / float64(max(1, c.liveCount))
}

// chunkPart returns the part that holds a chunk of the view.
func (c *corpus) chunkPart(chunk int) *part {
	i := sort.Search(len(c.parts), func(i int) bool { return c.parts[i].chunkBase > chunk })
	return &c.parts[i-1]
}
