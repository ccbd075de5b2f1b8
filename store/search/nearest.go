package search

import (
	"math"

	"github.com/freshet/freshet/store/segment"
)

// vectorQuery is a query's vector, quantised to 16 bits so that inner products with a
// chunk's row are exact integers.
type vectorQuery struct {
	values []float32 // as they were given
	row    []int16
	scale  float64
	signs  []uint64
}

// newVectorQuery quantises a vector. It returns nil for one that is zero or not finite.
func newVectorQuery(vector []float32) *vectorQuery {
	largest, squares := 0.0, 0.0
	for _, x := range vector {
		largest = max(largest, math.Abs(float64(x)))
		squares += float64(float64(x) * float64(x))
	}
	if largest == 0 || math.IsNaN(squares) || math.IsInf(squares, 0) {
		return nil
	}
	v := &vectorQuery{values: vector, row: make([]int16, len(vector)), signs: segment.Signs(vector)}
	for i, x := range vector {
		v.row[i] = int16(math.Round(float64(x) / largest * math.MaxInt16))
	}
	v.scale = largest / math.MaxInt16 / math.Sqrt(squares)
	return v
}

// cosine is the similarity to a chunk of a part, and whether the chunk has a vector.
func (v *vectorQuery) cosine(p *part, chunk int) (float64, bool) {
	if !p.HasVector(chunk) || p.Dimension() != len(v.row) {
		return 0, false
	}
	_, scale := p.Vector(chunk)
	return float64(p.Dot(v.row, chunk)) * float64(v.scale*float64(scale)), true
}

// nearest returns the chunks that pass and whose signs differ from the query's in the
// fewest places: at least most of them when there are so many, and all that are as near as
// the last one, so that the choice does not depend on their order.
func (v *vectorQuery) nearest(s *scratch, c *corpus, pass bitmap, most int) []uint32 {
	histogram := make([]int, len(v.row)+2)
	// Segments without a chunk that passes the filters are not read.
	usable := func(p *part) bool {
		return p.HasVectors() && p.Dimension() == len(v.row) && pass.any(p.chunkBase, p.chunkBase+p.Chunks())
	}
	for i := range c.parts {
		p := &c.parts[i]
		if !usable(p) {
			continue
		}
		near := s.near[p.chunkBase : p.chunkBase+p.Chunks()]
		p.Distances(near, v.signs)
		for chunk, distance := range near {
			if pass.has(p.chunkBase+chunk) && p.HasVector(chunk) {
				histogram[distance]++
			}
		}
	}
	limit, sum := len(histogram)-1, 0
	for distance, n := range histogram {
		if sum += n; sum >= most {
			limit = distance
			break
		}
	}
	chunks := make([]uint32, 0, sum)
	for i := range c.parts {
		p := &c.parts[i]
		if !usable(p) {
			continue
		}
		for chunk, distance := range s.near[p.chunkBase : p.chunkBase+p.Chunks()] {
			if int(distance) <= limit && pass.has(p.chunkBase+chunk) && p.HasVector(chunk) {
				chunks = append(chunks, uint32(p.chunkBase+chunk))
			}
		}
	}
	return chunks
}
