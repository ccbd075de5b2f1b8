package segment

import (
	"encoding/binary"
	"math"

	"github.com/freshet/freshet/store"
)

// PathWeight is the weight of the path's vector beside the chunk's.
const PathWeight = 0.5

// vectors collects the quantised vectors of chunks. A chunk without one takes a zero row.
type vectors struct {
	dimension           int
	data, signs, scales []byte
	has                 []byte
	any                 bool
	sum                 []float64
}

// add appends the vector of the next chunk, combined with the path's.
func (v *vectors) add(chunk store.Vector, path []float32) {
	ordinal := len(v.scales) / 4
	if ordinal%8 == 0 {
		v.has = append(v.has, 0)
	}
	scale := float32(0)
	row, words := len(v.data), len(v.signs)
	v.data = append(v.data, make([]byte, v.dimension)...)
	v.signs = append(v.signs, make([]byte, 8*signWords(v.dimension))...)
	if len(chunk.Data) > 0 && v.combine(chunk, path) {
		scale = v.quantise(v.data[row:], v.signs[words:])
		v.has[ordinal/8] |= 1 << (ordinal % 8)
		v.any = true
	}
	v.scales = binary.LittleEndian.AppendUint32(v.scales, math.Float32bits(scale))
}

// combine fills sum with the unit vector of chunk + PathWeight * path, and reports whether
// there is one. Products are rounded one by one, so that every machine gets the same.
func (v *vectors) combine(chunk store.Vector, path []float32) bool {
	squares := 0.0
	for i := range v.sum {
		x := float64(chunk.Data[i]) * float64(chunk.Scale)
		if path != nil {
			x = float64(x) + float64(float64(path[i])*PathWeight)
		}
		v.sum[i] = x
		squares += float64(x * x)
	}
	if squares == 0 || math.IsNaN(squares) || math.IsInf(squares, 0) {
		return false
	}
	norm := math.Sqrt(squares)
	for i := range v.sum {
		v.sum[i] /= norm
	}
	return true
}

func (v *vectors) quantise(data, signs []byte) (scale float32) {
	largest := 0.0
	for _, x := range v.sum {
		largest = max(largest, math.Abs(x))
	}
	scale = float32(largest / 127)
	for i, x := range v.sum {
		q := int8(math.Round(x / largest * 127))
		data[i] = byte(q)
		if q > 0 {
			signs[i/8] |= 1 << (i % 8)
		}
	}
	return scale
}
