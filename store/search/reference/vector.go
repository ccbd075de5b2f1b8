package reference

import (
	"math"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
)

// combine returns the row of chunk + path, normalised and quantised, nil when there is no
// chunk vector or nothing in it.
func combine(chunk store.Vector, path []float32) ([]int8, float32) {
	if len(chunk.Data) == 0 {
		return nil, 0
	}
	sum := make([]float64, len(chunk.Data))
	squares, largest := 0.0, 0.0
	for i, x := range chunk.Data {
		sum[i] = float64(x) * float64(chunk.Scale)
		if path != nil {
			sum[i] += float64(float64(path[i]) * segment.PathWeight)
		}
		squares += float64(sum[i] * sum[i])
	}
	if squares == 0 {
		return nil, 0
	}
	norm := math.Sqrt(squares)
	for i := range sum {
		sum[i] /= norm
		largest = math.Max(largest, math.Abs(sum[i]))
	}
	row := make([]int8, len(sum))
	for i, x := range sum {
		row[i] = int8(math.Round(x / largest * 127))
	}
	return row, float32(largest / 127)
}

// queryVector quantises the query's vector, nil when vectors do not count.
func (c Corpus) queryVector(q search.Query, all []*chunk) []int16 {
	embedded := false
	for _, ch := range all {
		embedded = embedded || ch.row != nil
	}
	largest := 0.0
	for _, x := range c.Vector {
		largest = math.Max(largest, math.Abs(float64(x)))
	}
	if q.Mode == search.ModeText || !embedded || largest == 0 {
		return nil
	}
	out := make([]int16, len(c.Vector))
	for i, x := range c.Vector {
		out[i] = int16(math.Round(float64(x) / largest * 32767))
	}
	return out
}

func cosine(query []float32, row []int16, ch *chunk) float64 {
	sum, squares, largest := 0, 0.0, 0.0
	for i, x := range query {
		sum += int(row[i]) * int(ch.row[i])
		squares += float64(float64(x) * float64(x))
		largest = math.Max(largest, math.Abs(float64(x)))
	}
	scale := largest / 32767 / math.Sqrt(squares)
	return float64(sum) * float64(scale*float64(ch.scale))
}

// distance counts the components whose signs differ: positive, or not.
func distance(query []float32, ch *chunk) (n int) {
	for i, x := range query {
		if (x > 0) != (ch.row[i] > 0) {
			n++
		}
	}
	return n
}
