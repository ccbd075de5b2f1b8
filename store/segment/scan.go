package segment

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// HasVectors reports whether any chunk has a vector.
func (s *Segment) HasVectors() bool { return len(s.has) > 0 }

// HasVector reports whether a chunk has a vector.
func (s *Segment) HasVector(chunk int) bool {
	return len(s.has) > 0 && s.has[chunk/8]&(1<<(chunk%8)) != 0
}

// Vector returns the row of a chunk, each byte an int8, in place, and its scale. The row
// is empty when the segment has no vectors.
func (s *Segment) Vector(chunk int) (row []byte, scale float32) {
	if !s.HasVectors() {
		return nil, 0
	}
	n := s.Dimension()
	return s.vectors[chunk*n : (chunk+1)*n : (chunk+1)*n],
		math.Float32frombits(binary.LittleEndian.Uint32(s.scales[4*chunk:]))
}

// Signs packs the signs of a vector as a segment's rows have them: one bit for each
// component, set when it is positive.
func Signs(vector []float32) []uint64 {
	signs := make([]uint64, signWords(len(vector)))
	for i, x := range vector {
		if x > 0 {
			signs[i/64] |= 1 << (i % 64)
		}
	}
	return signs
}

// Distances writes to dst, for every chunk, in how many signs its vector differs from the
// query's. It does nothing when the segment has no vectors. The length of dst must be
// Chunks, that of signs as Signs gives it for the segment's dimension.
func (s *Segment) Distances(dst []uint16, signs []uint64) {
	if !s.HasVectors() {
		return
	}
	if len(signs) == 4 {
		a, b, c, d := signs[0], signs[1], signs[2], signs[3]
		for i := range dst {
			row := s.signs[i*32 : i*32+32]
			dst[i] = uint16(bits.OnesCount64(a^binary.LittleEndian.Uint64(row)) +
				bits.OnesCount64(b^binary.LittleEndian.Uint64(row[8:])) +
				bits.OnesCount64(c^binary.LittleEndian.Uint64(row[16:])) +
				bits.OnesCount64(d^binary.LittleEndian.Uint64(row[24:])))
		}
		return
	}
	for i := range dst {
		n := 0
		for j, word := range signs {
			n += bits.OnesCount64(word ^ binary.LittleEndian.Uint64(s.signs[(i*len(signs)+j)*8:]))
		}
		dst[i] = uint16(n)
	}
}

// Dot returns the sum of products of a quantised query and a chunk's row, exactly.
func (s *Segment) Dot(query []int16, chunk int) int64 {
	row, _ := s.Vector(chunk)
	if len(row) != len(query) {
		return 0
	}
	sum := int64(0)
	for i, x := range row {
		sum += int64(int32(int8(x)) * int32(query[i]))
	}
	return sum
}
