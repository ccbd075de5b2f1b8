package trigram

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// An index is: the number of texts and of blocks; a table of blocks, which gives the first
// code and the offset of each; the blocks. A block has up to blockSize trigrams in ascending
// order of their codes. For each it has, as varints, the distance of the code to the one
// before, the number of its texts and the length of its list in bytes; then come the lists.
// The distances of a list are Rice coded (Rice and Plaunt, 1971) with a parameter that
// follows from the number of texts. A trigram that most texts hold has no list.
//
// A block begins with the length of what stands before its lists, as a varint.
const (
	blockSize  = 32
	headerSize = 8
	entrySize  = 8
)

// ErrCorrupt is returned for an index that does not hold together.
var ErrCorrupt = errors.New("trigram index does not hold together")

// common reports whether so many of the texts hold a trigram that a list of them would
// tell nothing.
func common(count, texts uint32) bool { return uint64(count)*4 > uint64(texts)*3 }

// parameter returns how many low bits of a distance are written as they are: the logarithm
// of the mean distance times ln 2.
func parameter(count, texts uint32) int {
	return max(0, bits.Len64(uint64(texts-count)*11/16/uint64(max(1, count)))-1)
}

type writer struct {
	texts uint32
	table []byte
	data  []byte
	heads []byte
	lists []byte
}

// block writes the trigrams of the given numbers.
func (w *writer) block(b *Builder, group []uint32) {
	before := b.codes[group[0]]
	w.table = binary.LittleEndian.AppendUint32(w.table, before)
	w.table = binary.LittleEndian.AppendUint32(w.table, uint32(len(w.data)))
	w.heads, w.lists = w.heads[:0], w.lists[:0]
	for _, n := range group {
		l := &b.lists[n]
		start := len(w.lists)
		if !common(l.count, w.texts) {
			w.list(l)
		}
		w.heads = binary.AppendUvarint(w.heads, uint64(b.codes[n]-before))
		w.heads = binary.AppendUvarint(w.heads, uint64(l.count))
		w.heads = binary.AppendUvarint(w.heads, uint64(len(w.lists)-start))
		before = b.codes[n]
		l.gaps = nil
	}
	w.data = binary.AppendUvarint(w.data, uint64(len(w.heads)))
	w.data = append(append(w.data, w.heads...), w.lists...)
}

func (w *writer) list(l *list) {
	low := parameter(l.count, w.texts)
	out := bitWriter{data: w.lists}
	for gaps := l.gaps; len(gaps) > 0; {
		gap, n := binary.Uvarint(gaps)
		gaps = gaps[n:]
		out.unary(gap >> low)
		out.bits(gap&(1<<low-1), low)
	}
	w.lists = out.finish()
}

func (w *writer) finish() []byte {
	out := make([]byte, 0, headerSize+len(w.table)+len(w.data))
	out = binary.LittleEndian.AppendUint32(out, w.texts)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(w.table)/entrySize))
	out = append(out, w.table...)
	return append(out, w.data...)
}

// bitWriter appends bits to bytes, the lowest first.
type bitWriter struct {
	data  []byte
	held  uint64
	count int // bits held, below 8 between calls
}

// bits appends the n lowest bits of v; n is at most 32.
func (w *bitWriter) bits(v uint64, n int) {
	w.held |= v << w.count
	for w.count += n; w.count >= 8; w.count -= 8 {
		w.data = append(w.data, byte(w.held))
		w.held >>= 8
	}
}

// unary appends v ones and a zero.
func (w *bitWriter) unary(v uint64) {
	for ; v >= 32; v -= 32 {
		w.bits(1<<32-1, 32)
	}
	w.bits(1<<v-1, int(v)+1)
}

func (w *bitWriter) finish() []byte {
	if w.count > 0 {
		w.data = append(w.data, byte(w.held))
	}
	return w.data
}

// bitReader reads what a bitWriter wrote. Behind the end it reads ones, so that a unary
// number without an end is told from one with.
type bitReader struct {
	data  []byte
	held  uint64
	count int
}

func (r *bitReader) fill() {
	for r.count <= 56 {
		next := uint64(0xff)
		if len(r.data) > 0 {
			next, r.data = uint64(r.data[0]), r.data[1:]
		}
		r.held |= next << r.count
		r.count += 8
	}
}

// unary reads a number; one above limit is read as limit+1.
func (r *bitReader) unary(limit uint64) (v uint64) {
	for {
		r.fill()
		ones := bits.TrailingZeros64(^r.held)
		if ones < r.count {
			r.held >>= ones + 1
			r.count -= ones + 1
			return v + uint64(ones)
		}
		if v += uint64(r.count); v > limit {
			return limit + 1
		}
		r.held, r.count = 0, 0
	}
}

func (r *bitReader) bits(n int) uint64 {
	r.fill()
	v := r.held & (1<<n - 1)
	r.held >>= n
	r.count -= n
	return v
}
