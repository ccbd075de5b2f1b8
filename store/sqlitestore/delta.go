package sqlitestore

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/freshet/freshet/store"
)

// A delta writes a target as copies from a source and literal bytes between them, as in
// RFC 3284 (VCDIFF): signatures and comments of a syntax stand in its content already.
const (
	// deltaSeed is how many bytes must be equal to be looked at, deltaMatch how many to be
	// worth a copy: what is shorter costs less as a literal, once it is compressed.
	deltaSeed  = 8
	deltaMatch = 10

	deltaBits  = 15 // log2 of the lists of places
	deltaTries = 16 // places that are compared for one match
)

// deltaTables holds tables that were used before.
type deltaTables struct{ pool sync.Pool } // of *deltaTable

// deltaTable lists the places of a source by a hash of the deltaSeed bytes there: places
// are counted from 1, 0 ends a list, and lists ascend.
type deltaTable struct {
	first [1 << deltaBits]uint32
	next  []uint32 // of the place before it
}

func (t *deltaTables) of(source []byte) *deltaTable {
	table, ok := t.pool.Get().(*deltaTable)
	if ok {
		clear(table.first[:])
	} else {
		table = new(deltaTable)
	}
	table.next = slices.Grow(table.next[:0], len(source))[:len(source)]
	for at := len(source) - deltaSeed; at >= 0; at-- {
		slot := deltaSlot(source[at:])
		table.next[at] = table.first[slot]
		table.first[slot] = uint32(at) + 1
	}
	return table
}

// match returns the place in source that has the longest run in common with target, the
// one nearest to a place when there are several, and the length of that run.
func (t *deltaTable) match(source, target []byte, near int) (from, n int) {
	place := t.first[deltaSlot(target)]
	for range deltaTries {
		if place == 0 {
			break
		}
		at := int(place) - 1
		if m := commonPrefix(source[at:], target); m > n || m == n && max(at-near, near-at) < max(from-near, near-from) {
			from, n = at, m
		}
		place = t.next[at]
	}
	return from, n
}

func deltaSlot(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b) * 0x9e3779b97f4a7c15 >> (64 - deltaBits)
}

// append appends to dst what makes target of source: the number of copies, for each how
// many literal bytes stand before it, its length, and how far from the end of the copy
// before it begins in the source; then all literal bytes. Any source may be given, and an
// empty one gives a literal target.
func (t *deltaTables) append(dst, source, target []byte) []byte {
	var ops, literals []byte
	copies, literal, end := uint64(0), 0, 0
	if len(source) >= deltaSeed {
		table := t.of(source)
		defer t.pool.Put(table)
		for at := 0; at+deltaSeed <= len(target); {
			from, n := table.match(source, target[at:], end)
			if n < deltaMatch {
				at++
				continue
			}
			ops = binary.AppendUvarint(ops, uint64(at-literal))
			ops = binary.AppendUvarint(ops, uint64(n))
			ops = binary.AppendVarint(ops, int64(from-end))
			literals = append(literals, target[literal:at]...)
			copies++
			at += n
			literal, end = at, from+n
		}
	}
	dst = binary.AppendUvarint(dst, copies)
	dst = append(dst, ops...)
	dst = append(dst, literals...)
	return append(dst, target[literal:]...)
}

func commonPrefix(a, b []byte) int {
	n, limit := 0, min(len(a), len(b))
	for ; n+8 <= limit; n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < limit && a[n] == b[n] {
		n++
	}
	return n
}

// applyDelta reverses append with the same source. It returns store.ErrCorrupt for bytes
// that do not fit the source, or that would make a target of over maxUnpacked bytes.
func applyDelta(source, delta []byte) ([]byte, error) {
	r := reader{buf: delta}
	copies := r.uint()
	if copies > uint64(len(delta))/3 {
		return nil, errDelta()
	}
	type op struct{ literal, length, from uint64 }
	ops := make([]op, copies)
	size, end := uint64(0), int64(0)
	for i := range ops {
		o := op{literal: r.uint(), length: r.uint()}
		from := end + r.int()
		if r.bad || from < 0 || uint64(from) > uint64(len(source)) || o.length > uint64(len(source))-uint64(from) {
			return nil, errDelta()
		}
		o.from, end = uint64(from), from+int64(o.length)
		if size += o.length; size > maxUnpacked {
			return nil, errDelta()
		}
		ops[i] = o
	}
	if r.bad {
		return nil, errDelta()
	}
	target := make([]byte, 0, size+uint64(len(r.buf)))
	for _, o := range ops {
		target = append(target, r.take(o.literal)...)
		target = append(target, source[o.from:o.from+o.length]...)
	}
	if r.bad {
		return nil, errDelta()
	}
	return append(target, r.buf...), nil
}

func errDelta() error { return fmt.Errorf("delta does not fit its source: %w", store.ErrCorrupt) }
