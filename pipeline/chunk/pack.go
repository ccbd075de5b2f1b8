package chunk

import (
	"bytes"
	"crypto/sha256"
	"hash/fnv"

	"github.com/freshet/freshet/store"
)

// The sizes that decide about chunks. A chunk of 25 to 60 lines is what embeds well.
const (
	// maxBytes and maxLines bound a chunk; what fits into them is never split.
	maxBytes = 4000
	maxLines = 100
	// targetBytes bounds a chunk made of several small neighbours.
	targetBytes = 2000
	// standBytes and standLines are from when on an item stands alone, so that an edit
	// changes its chunk and not how its neighbours are joined.
	standBytes = 900
	standLines = 30
	// tinyBytes is up to when an item is joined with a neighbour of any size, and
	// tinyPart the same for a part of something that was divided.
	tinyBytes = 200
	tinyPart  = 400
	// breakOneIn is how often, of small neighbours, one begins a chunk before the target
	// is reached. It is chosen by the text of its first line, so that after an edit the
	// same chunks begin again soon (as in content-defined chunking).
	breakOneIn = 4
)

// item is a span that is not split any more: whole lines, or a part of one overlong line.
type item struct {
	start, end  uint32
	first, end1 int // lines [first, end1)
	// crumb is where the item stands, group where the thing stands that it is part of.
	crumb, group string
}

func (i item) bytes() int { return int(i.end - i.start) }
func (i item) lines() int { return i.end1 - i.first }
func (i item) tiny() bool {
	return i.bytes() <= tinyBytes || i.bytes() <= tinyPart && i.crumb == i.group && i.crumb != ""
}
func (i item) stands() bool { return i.bytes() >= standBytes || i.lines() >= standLines }

func fits(bytes, lines int) bool { return bytes <= maxBytes && lines <= maxLines }

// bunch is a chunk in the making: the adjacent items [from, to).
type bunch struct {
	item
	from, to int
	largest  item
}

func single(i int, it item) bunch { return bunch{item: it, from: i, to: i + 1, largest: it} }

// and is b with the bunch behind it.
func (b bunch) and(next bunch) bunch {
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
	var bunches []bunch
	for i, it := range items {
		next, last := single(i, it), len(bunches)-1
		switch {
		case last >= 0 && joins(content, bunches[last], it):
			bunches[last] = bunches[last].and(next)
		case last > 0 && leftOver(bunches[last-1], bunches[last], it.group):
			bunches[last-1] = bunches[last-1].and(bunches[last])
			bunches[last] = next
		default:
			bunches = append(bunches, next)
		}
	}
	if last := len(bunches) - 1; last > 0 && leftOver(bunches[last-1], bunches[last], noGroup) {
		bunches[last-1] = bunches[last-1].and(bunches[last])
		bunches = bunches[:last]
	}
	return chunksOf(content, items, bunches)
}

// noGroup is the group of what comes after the last item.
const noGroup = "\x00"

// joins decides whether next continues b.
func joins(content []byte, b bunch, next item) bool {
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
func (b bunch) grown() bool { return !b.largest.stands() }

// leftOver decides whether the tiny bunch b, which the next item does not continue, is joined to
// the chunk before it: the closing brace of a class, the last line of a file.
func leftOver(before, b bunch, nextGroup string) bool {
	return b.tiny() && b.group != nextGroup && fits(before.bytes()+b.bytes(), b.end1-before.first)
}

// startsChunk picks one text in breakOneIn by its first line.
func startsChunk(text []byte) bool {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	h := fnv.New32a()
	h.Write(text)
	return h.Sum32()%breakOneIn == 0
}

func chunksOf(content []byte, items []item, bunches []bunch) []store.Chunk {
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
