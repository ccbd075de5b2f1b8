package builtin

import "github.com/freshet/freshet/store/lexical"

// bag counts the distinct words of a text by their hashes, in an open-addressed table that
// is emptied by walking what was used.
type bag struct {
	scanner lexical.Scanner
	hashes  []uint64
	counts  []uint32
	order   []uint32 // slots in the order of first use
}

func newBag() *bag {
	const size = 1024
	return &bag{hashes: make([]uint64, size), counts: make([]uint32, size)}
}

func (b *bag) reset() {
	for _, slot := range b.order {
		b.counts[slot] = 0
	}
	b.order = b.order[:0]
}

func (b *bag) add(hash uint64) {
	if 2*len(b.order) >= len(b.hashes) {
		b.grow()
	}
	mask := uint64(len(b.hashes) - 1)
	for slot := hash & mask; ; slot = (slot + 1) & mask {
		switch {
		case b.counts[slot] == 0:
			b.hashes[slot], b.counts[slot] = hash, 1
			b.order = append(b.order, uint32(slot))
			return
		case b.hashes[slot] == hash:
			b.counts[slot]++
			return
		}
	}
}

func (b *bag) grow() {
	old := *b
	b.hashes = make([]uint64, 2*len(old.hashes))
	b.counts = make([]uint32, 2*len(old.counts))
	b.order = make([]uint32, 0, len(old.order)*2)
	mask := uint64(len(b.hashes) - 1)
	for _, from := range old.order {
		slot := old.hashes[from] & mask
		for b.counts[slot] != 0 {
			slot = (slot + 1) & mask
		}
		b.hashes[slot], b.counts[slot] = old.hashes[from], old.counts[from]
		b.order = append(b.order, uint32(slot))
	}
}
