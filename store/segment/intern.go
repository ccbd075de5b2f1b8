package segment

import (
	"bytes"
	"hash/maphash"
)

// interner numbers distinct byte strings from 0 in the order in which they come. Its table
// is open-addressed over one arena, so that a term costs its bytes and 16 more. The seed
// of its hash is random and never shows in the numbers.
type interner struct {
	seed    maphash.Seed
	slots   []uint32 // number + 1, 0 when free
	hashes  []uint32
	offsets []uint32 // one more than there are strings
	arena   []byte
}

func newInterner() *interner {
	return &interner{seed: maphash.MakeSeed(), slots: make([]uint32, 1<<12), offsets: []uint32{0}}
}

func (in *interner) len() int { return len(in.hashes) }

func (in *interner) bytes(id uint32) []byte { return in.arena[in.offsets[id]:in.offsets[id+1]] }

// intern returns the number of s, which is copied when it is new.
func (in *interner) intern(s []byte) uint32 {
	hash := uint32(maphash.Bytes(in.seed, s))
	mask := uint32(len(in.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		slot := in.slots[at]
		if slot == 0 {
			in.slots[at] = uint32(len(in.hashes)) + 1
			break
		}
		if in.hashes[slot-1] == hash && bytes.Equal(in.bytes(slot-1), s) {
			return slot - 1
		}
	}
	id := uint32(len(in.hashes))
	in.hashes = append(in.hashes, hash)
	in.arena = append(in.arena, s...)
	in.offsets = append(in.offsets, uint32(len(in.arena)))
	if 4*len(in.hashes) > 3*len(in.slots) {
		in.grow()
	}
	return id
}

func (in *interner) grow() {
	in.slots = make([]uint32, 2*len(in.slots))
	mask := uint32(len(in.slots) - 1)
	for id, hash := range in.hashes {
		at := hash & mask
		for in.slots[at] != 0 {
			at = (at + 1) & mask
		}
		in.slots[at] = uint32(id) + 1
	}
}
