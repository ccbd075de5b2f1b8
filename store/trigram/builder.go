package trigram

import (
	"encoding/binary"
	"slices"
	"sync"
	"unicode/utf8"
)

// codes is the number of codes of trigrams. That of three line feeds, which no text has, is
// for the texts that could not be read.
const (
	codes  = 1 << 24
	unread = '\n'<<16 | '\n'<<8 | '\n'
)

// Builder makes an index of texts, which are numbered from 0 in the order in which they are
// added. The same texts in the same order give the same bytes. It must not be used from two
// goroutines at once.
type Builder struct {
	texts uint32
	slots []uint32 // open-addressed: number of a trigram + 1, 0 when free
	codes []uint32 // by number
	lists []list   // by number
	fresh []uint32 // the distinct trigrams of the text that is being added
	text  []byte   // folded
}

// list holds the texts of a trigram in ascending order, each as the distance to the one
// before as a varint.
type list struct {
	next, count uint32
	gaps        []byte
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder { return &Builder{slots: make([]uint32, 1<<12)} }

// seenSets holds sets of codes, all empty, of 2 MiB each.
var seenSets = sync.Pool{New: func() any { return new([codes / 64]uint64) }}

// AddUnread adds a text that could not be read: every query names it.
func (b *Builder) AddUnread() {
	b.list(unread).add(b.texts)
	b.texts++
}

// Add adds a text. It keeps nothing of it.
func (b *Builder) Add(text []byte) {
	if i := slices.IndexFunc(text, func(c byte) bool { return c >= utf8.RuneSelf }); i >= 0 {
		b.text = Fold(b.text[:0], text)
		text = b.text
	}
	seen := seenSets.Get().(*[codes / 64]uint64)
	fresh := b.fresh[:0]
	code, run := uint32(0), 0
	for _, c := range text {
		if c == '\n' {
			run = 0
			continue
		}
		code = (code<<8 | uint32(lower[c])) & (codes - 1)
		if run++; run < 3 {
			continue
		}
		if word, bit := &seen[code>>6], uint64(1)<<(code&63); *word&bit == 0 {
			*word |= bit
			fresh = append(fresh, code)
		}
	}
	for _, code := range fresh {
		seen[code>>6] = 0
		b.list(code).add(b.texts)
	}
	seenSets.Put(seen)
	b.fresh = fresh
	b.texts++
}

func (l *list) add(text uint32) {
	l.gaps = binary.AppendUvarint(l.gaps, uint64(text-l.next))
	l.next, l.count = text+1, l.count+1
}

// list returns the list of a trigram, which is valid until the next call.
func (b *Builder) list(code uint32) *list {
	mask := uint32(len(b.slots) - 1)
	at := hash(code) & mask
	for ; b.slots[at] != 0; at = (at + 1) & mask {
		if n := b.slots[at] - 1; b.codes[n] == code {
			return &b.lists[n]
		}
	}
	b.codes, b.lists = append(b.codes, code), append(b.lists, list{})
	b.slots[at] = uint32(len(b.codes))
	if 4*len(b.codes) > 3*len(b.slots) {
		b.grow()
	}
	return &b.lists[len(b.lists)-1]
}

func (b *Builder) grow() {
	b.slots = make([]uint32, 2*len(b.slots))
	mask := uint32(len(b.slots) - 1)
	for n, code := range b.codes {
		at := hash(code) & mask
		for b.slots[at] != 0 {
			at = (at + 1) & mask
		}
		b.slots[at] = uint32(n) + 1
	}
}

// hash spreads codes over 32 bits (Knuth's multiplicative hash, The Art of Computer
// Programming, 6.4), its best bits moved to the low end.
func hash(code uint32) uint32 {
	code *= 2654435761
	return code ^ code>>15
}

// Bytes returns the index. The builder must not be used afterwards.
func (b *Builder) Bytes() []byte {
	order := make([]uint32, len(b.codes))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return int(b.codes[x]) - int(b.codes[y]) })
	w := writer{texts: b.texts}
	for group := range slices.Chunk(order, blockSize) {
		w.block(b, group)
	}
	return w.finish()
}
