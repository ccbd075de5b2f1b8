package chunk

import (
	"bytes"
	"crypto/sha256"
	"hash/fnv"

	"github.com/freshet/freshet/store"
)

// The sizes of chunks. Chunks of 25 to 60 lines embed well.
const (
	// maxBytes and maxLines bound a chunk; what fits into them is never split.
	maxBytes = 4000
	maxLines = 100
	// targetBytes bounds a chunk made of several small neighbours.
	targetBytes = 2000
	// standBytes and standLines are the sizes from which an item is a chunk by itself, so
	// that an edit does not change how its neighbours are joined.
	standBytes = 900
	standLines = 30
	// tinyBytes is the size up to which an item is joined with a neighbour of any size, and
	// tinyPart the same for a part of a divided unit.
	tinyBytes = 200
	tinyPart  = 400
	// breakOneIn is the frequency of content-defined boundaries: one of so many small items
	// begins a chunk before the target is reached. It is chosen by a hash of its first line,
	// so that the boundaries after an edit soon agree with those before it.
	breakOneIn = 4
)

// item is an indivisible span: whole lines, or a part of one overlong line.
type item struct {
	start, end  uint32
	first, end1 int // lines [first, end1)
	// crumb is the breadcrumb of the item, group that of the unit that it is part of.
	crumb, group string
}

func (i item) bytes() int { return int(i.end - i.start) }
func (i item) lines() int { return i.end1 - i.first }
func (i item) tiny() bool {
	return i.bytes() <= tinyBytes || i.bytes() <= tinyPart && i.crumb == i.group && i.crumb != ""
}
func (i item) stands() bool { return i.bytes() >= standBytes || i.lines() >= standLines }

func fits(bytes, lines int) bool { return bytes <= maxBytes && lines <= maxLines }

// chunkDraft is a chunk under construction: the adjacent items [from, to).
type chunkDraft struct {
	item
	from, to int
	largest  item
}

func single(i int, it item) chunkDraft { return chunkDraft{item: it, from: i, to: i + 1, largest: it} }

// append is b with the bunch behind it.
func (b chunkDraft) append(next chunkDraft) chunkDraft {
	b.end, b.end1, b.to = next.end, next.end1, next.to
	if next.largest.bytes() > b.largest.bytes() {
		b.largest = next.largest
	}
	if next.group != b.group {
		b.group = b.largest.group
	}
	return b
}

// pack joins small neighbours of items, which cover the content in order, into chunks.
func pack(content []byte, items []item) []store.Chunk {
	var bunches []chunkDraft
	for i, it := range items {
		next, last := single(i, it), len(bunches)-1
		switch {
		case last >= 0 && joins(content, bunches[last], it):
			bunches[last] = bunches[last].append(next)
		case last > 0 && leftOver(bunches[last-1], bunches[last], it.group):
			bunches[last-1] = bunches[last-1].append(bunches[last])
			bunches[last] = next
		default:
			bunches = append(bunches, next)
		}
	}
	if last := len(bunches) - 1; last > 0 && leftOver(bunches[last-1], bunches[last], noGroup) {
		bunches[last-1] = bunches[last-1].append(bunches[last])
		bunches = bunches[:last]
	}
	return chunksOf(content, items, bunches)
}

// noGroup is the group of what comes after the last item.
const noGroup = "\x00"

// joins reports whether next is added to b.
func joins(content []byte, b chunkDraft, next item) bool {
	bytes, lines := b.bytes()+next.bytes(), next.end1-b.first
	if !fits(bytes, lines) {
		return false
	}
	switch {
	case b.tiny():
		return b.group == next.group || next.crumb == b.crumb || b.group == "" || next.tiny()
	case b.group != next.group, b.stands() && !b.grown(), next.stands(), bytes > targetBytes:
		return false
	case b.bytes() >= targetBytes*2/3 && startsChunk(content[next.start:next.end]):
		return false
	}
	return true
}

// grown reports whether b became large by joining small items.
func (b chunkDraft) grown() bool { return !b.largest.stands() }

// leftOver reports whether the tiny draft b, to which the next item is not added, is joined
// to the chunk before it: the closing brace of a class, the last line of a file.
func leftOver(before, b chunkDraft, nextGroup string) bool {
	return b.tiny() && b.group != nextGroup && fits(before.bytes()+b.bytes(), b.end1-before.first)
}

// startsChunk reports whether a text is a content-defined boundary, by a hash of its first
// line.
func startsChunk(text []byte) bool {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	h := fnv.New32a()
	h.Write(text)
	return h.Sum32()%breakOneIn == 0
}

func chunksOf(content []byte, items []item, bunches []chunkDraft) []store.Chunk {
	if len(bunches) == 0 {
		return nil
	}
	chunks := make([]store.Chunk, len(bunches))
	h := sha256.New()
	for i, b := range bunches {
		c := &chunks[i]
		c.Start, c.End = b.start, b.end
		c.StartLine, c.EndLine = uint32(b.first)+1, uint32(b.end1)
		c.Breadcrumb = breadcrumb(items[b.from:b.to])
		h.Reset()
		if c.Breadcrumb != "" {
			h.Write([]byte(c.Breadcrumb))
			h.Write([]byte{'\n'})
		}
		h.Write(content[c.Start:c.End])
		h.Sum(c.TextHash[:0])
	}
	return chunks
}
