package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// The form of a table, all numbers little-endian:
//
//	magic, version, dimension, words, slots, bytes of words     headerSize bytes
//	slots     uint32 each: the ordinal of a word plus 1, or 0   open addressing by xxHash64
//	ends      uint32 each: where the word ends in the bytes of words
//	scales    float32 each: what a row is multiplied with in a document
//	asked     float32 each: what it is multiplied with in a query
//	words     the bytes of the words, one after the other
//	rows      dimension bytes each: the component plus bias
const (
	magic      = "fshtable"
	version    = 1
	headerSize = 32
	bias       = 128
	// MaxWords is the most words of a table.
	MaxWords = 1 << 20
	// MaxDimension is the most components of a row; a dimension is a multiple of 8.
	MaxDimension = 1024
)

// ErrMalformed is wrapped by the errors of Open.
var ErrMalformed = errors.New("malformed embedding table")

// Row is a word of a table to be written, with its components in -127 to 127.
type Row struct {
	Word            string
	Document, Query float32 // scales, not negative
	Components      []int8
}

// Write returns the table of rows, whose words must be distinct and not empty.
func Write(dimension int, rows []Row) ([]byte, error) {
	if dimension < 8 || dimension > MaxDimension || dimension%8 != 0 || len(rows) == 0 || len(rows) > MaxWords {
		return nil, fmt.Errorf("write a table of %d words and %d components: out of bounds", len(rows), dimension)
	}
	slots := make([]uint32, 1<<bits.Len(uint(2*len(rows)-1)))
	var ends, scales, asked, words, data []byte
	seen := make(map[string]bool, len(rows))
	for i, row := range rows {
		if row.Word == "" || seen[row.Word] || len(row.Components) != dimension {
			return nil, fmt.Errorf("write row %d (%q): empty, repeated, or of %d components", i, row.Word, len(row.Components))
		}
		seen[row.Word] = true
		slot := xxhash.Sum64String(row.Word) & uint64(len(slots)-1)
		for slots[slot] != 0 {
			slot = (slot + 1) & uint64(len(slots)-1)
		}
		slots[slot] = uint32(i + 1)
		words = append(words, row.Word...)
		ends = binary.LittleEndian.AppendUint32(ends, uint32(len(words)))
		scales = binary.LittleEndian.AppendUint32(scales, math.Float32bits(row.Document))
		asked = binary.LittleEndian.AppendUint32(asked, math.Float32bits(row.Query))
		for _, c := range row.Components {
			data = append(data, byte(int(c)+bias))
		}
	}
	out := append(make([]byte, 0, headerSize+len(data)*2), magic...)
	for _, n := range []int{version, dimension, len(rows), len(slots), len(words), 0} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	for _, slot := range slots {
		out = binary.LittleEndian.AppendUint32(out, slot)
	}
	for _, section := range [][]byte{ends, scales, asked, words, data} {
		out = append(out, section...)
	}
	return out, nil
}

// Table is an open table. It is never changed and may be used from several goroutines.
type Table struct {
	dimension, words int
	mask             uint64
	slots, ends      string
	scales, asked    string
	text, rows       string
	unit             float64 // the scale that one unit of an integer weight stands for
}

// Open reads a table that lies in data. It looks at every number that could lead out of
// data and at none of the components.
func Open(data string) (*Table, error) {
	if len(data) < headerSize || data[:len(magic)] != magic || word(data, len(magic)) != version {
		return nil, fmt.Errorf("%w: no table of version %d", ErrMalformed, version)
	}
	at := func(i int) int { return int(word(data, len(magic)+4*i)) }
	t := &Table{dimension: at(1), words: at(2), mask: uint64(at(3)) - 1}
	slots, text := at(3), at(4)
	if t.dimension < 8 || t.dimension > MaxDimension || t.dimension%8 != 0 || t.words < 1 || t.words > MaxWords ||
		slots&(slots-1) != 0 || slots <= t.words || slots > 8*MaxWords || text > len(data) ||
		len(data) != headerSize+4*slots+12*t.words+text+t.words*t.dimension {
		return nil, fmt.Errorf("%w: sizes do not add up", ErrMalformed)
	}
	rest := data[headerSize:]
	for _, section := range []struct {
		of   *string
		size int
	}{{&t.slots, 4 * slots}, {&t.ends, 4 * t.words}, {&t.scales, 4 * t.words}, {&t.asked, 4 * t.words},
		{&t.text, text}, {&t.rows, t.words * t.dimension}} {
		*section.of, rest = rest[:section.size], rest[section.size:]
	}
	return t, t.check(slots)
}

// check looks at the sections that lead elsewhere, and finds the unit of the weights.
func (t *Table) check(slots int) error {
	used := 0
	for i := range slots {
		n := int(word(t.slots, 4*i))
		if n > t.words {
			return fmt.Errorf("%w: slot %d names no word", ErrMalformed, i)
		}
		used += min(n, 1)
	}
	if used != t.words { // a look-up ends at an empty slot
		return fmt.Errorf("%w: %d slots for %d words", ErrMalformed, used, t.words)
	}
	end, largest := uint32(0), float64(0)
	for i := range t.words {
		next := word(t.ends, 4*i)
		if next <= end || int(next) > len(t.text) {
			return fmt.Errorf("%w: word %d is empty or ends outside", ErrMalformed, i)
		}
		end = next
		for _, scales := range []string{t.scales, t.asked} {
			scale := float64(math.Float32frombits(word(scales, 4*i)))
			if !(scale >= 0 && scale < 1e6) { // refuses NaN too
				return fmt.Errorf("%w: scale of word %d is %g", ErrMalformed, i, scale)
			}
			largest = max(largest, scale)
		}
	}
	t.unit = max(largest, math.SmallestNonzeroFloat32) * maxLog / maxWeight
	return nil
}

func word(data string, at int) uint32 {
	b := data[at : at+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
