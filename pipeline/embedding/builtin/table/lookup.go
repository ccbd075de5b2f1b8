package table

import "github.com/cespare/xxhash/v2"

// The cutting of unknown words.
const (
	// minPiece is the fewest bytes of a known prefix that stands for an unknown word.
	minPiece = 3
	// maxPieces is the most such prefixes of a word.
	maxPieces = 4
)

// Dimension is the number of components of a row.
func (t *Table) Dimension() int { return t.dimension }

// Words is the number of words; their ordinals begin at 0.
func (t *Table) Words() int { return t.words }

// Word returns the word of an ordinal.
func (t *Table) Word(ordinal int) string {
	start := uint32(0)
	if ordinal > 0 {
		start = word(t.ends, 4*(ordinal-1))
	}
	return t.text[start:word(t.ends, 4*ordinal)]
}

// Lookup returns the ordinal of a word.
func (t *Table) Lookup(token []byte) (ordinal int, ok bool) {
	for slot := xxhash.Sum64(token) & t.mask; ; slot = (slot + 1) & t.mask {
		n := int(word(t.slots, int(4*slot)))
		if n == 0 {
			return 0, false
		}
		if t.Word(n-1) == string(token) {
			return n - 1, true
		}
	}
}

// AppendRows appends the ordinals that stand for a word: its own, or those of the longest
// known pieces of at least 3 bytes that it is cut into from the left, at most 4; what
// begins no piece is skipped byte by byte. A word in which nothing is known has none.
func (t *Table) AppendRows(dst []uint32, token []byte) []uint32 {
	if n, ok := t.Lookup(token); ok {
		return append(dst, uint32(n))
	}
	return Cut(dst, token, t.Lookup)
}

// Cut is AppendRows for an unknown word over any vocabulary.
func Cut(dst []uint32, token []byte, lookup func([]byte) (int, bool)) []uint32 {
	pieces := 0
	for start := 0; start+minPiece <= len(token) && pieces < maxPieces; {
		next := start + 1
		for end := len(token); end >= start+minPiece; end-- {
			if n, ok := lookup(token[start:end]); ok {
				dst, next = append(dst, uint32(n)), end
				pieces++
				break
			}
		}
		start = next
	}
	return dst
}
