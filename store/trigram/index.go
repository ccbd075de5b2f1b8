package trigram

import (
	"encoding/binary"
	"fmt"
	"sort"
)

// Index reads the bytes of an index in place. It may be used from several goroutines.
type Index struct {
	texts uint32
	table []byte
	data  []byte
}

// Open returns a reader of an index of the given number of texts. It checks the sizes of
// the tables; lists are checked when they are read. The error wraps ErrCorrupt.
func Open(data []byte, texts int) (*Index, error) {
	if len(data) < headerSize {
		return nil, fmt.Errorf("%w: %d bytes", ErrCorrupt, len(data))
	}
	x := &Index{texts: binary.LittleEndian.Uint32(data)}
	blocks := uint64(binary.LittleEndian.Uint32(data[4:]))
	if uint64(x.texts) != uint64(texts) {
		return nil, fmt.Errorf("%w: of %d texts, want %d", ErrCorrupt, x.texts, texts)
	}
	data = data[headerSize:]
	if blocks*entrySize > uint64(len(data)) {
		return nil, fmt.Errorf("%w: %d blocks in %d bytes", ErrCorrupt, blocks, len(data))
	}
	x.table, x.data = data[:blocks*entrySize], data[blocks*entrySize:]
	if blocks == 0 && len(x.data) > 0 || blocks > 0 && binary.LittleEndian.Uint32(x.table[4:]) != 0 {
		return nil, fmt.Errorf("%w: bytes that are of no block", ErrCorrupt)
	}
	return x, nil
}

// entry is what an index has of one trigram.
type entry struct {
	count uint32
	list  []byte // empty when the trigram is common
}

// find returns the entry of a trigram, which counts no texts when the index does not have it.
func (x *Index) find(code uint32) (entry, error) {
	blocks := len(x.table) / entrySize
	first := func(i int) uint32 { return binary.LittleEndian.Uint32(x.table[i*entrySize:]) }
	i := sort.Search(blocks, func(i int) bool { return first(i) > code }) - 1
	if i < 0 {
		return entry{}, nil
	}
	offset := func(i int) uint32 { return binary.LittleEndian.Uint32(x.table[i*entrySize+4:]) }
	end := uint32(len(x.data))
	if i+1 < blocks {
		end = offset(i + 1)
	}
	if offset(i) > end || uint64(end) > uint64(len(x.data)) {
		return entry{}, fmt.Errorf("%w: block %d", ErrCorrupt, i)
	}
	found, ok := findIn(x.data[offset(i):end], first(i), code)
	if !ok || found.count > x.texts {
		return entry{}, fmt.Errorf("%w: block %d", ErrCorrupt, i)
	}
	return found, nil
}

// findIn looks a trigram up in a block whose first one is at.
func findIn(block []byte, at, code uint32) (found entry, ok bool) {
	size, n := binary.Uvarint(block)
	if n <= 0 || size > uint64(len(block)-n) {
		return entry{}, false
	}
	heads, lists := block[n:n+int(size)], block[n+int(size):]
	for len(heads) > 0 {
		var values [3]uint64
		for i := range values {
			v, n := binary.Uvarint(heads)
			if n <= 0 {
				return entry{}, false
			}
			values[i], heads = v, heads[n:]
		}
		step, count, length := values[0], values[1], values[2]
		if step >= codes || count == 0 || count > 1<<32-1 || length > uint64(len(lists)) {
			return entry{}, false
		}
		at += uint32(step)
		switch {
		case at == code:
			return entry{uint32(count), lists[:length]}, true
		case at > code:
			return entry{}, true
		}
		lists = lists[length:]
	}
	return entry{}, true
}

// texts calls each for every text of a list in ascending order.
func (e entry) texts(of uint32, each func(text uint32)) error {
	low := parameter(e.count, of)
	in := bitReader{data: e.list}
	next := uint64(0)
	for range e.count {
		high := in.unary(uint64(of))
		text := next + high<<low + in.bits(low)
		if text >= uint64(of) {
			return fmt.Errorf("%w: a list names text %d of %d", ErrCorrupt, text, of)
		}
		each(uint32(text))
		next = text + 1
	}
	return nil
}
