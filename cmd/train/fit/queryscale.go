package fit

import "math"

// weights is the learning of what rows are multiplied with in queries.
type weights struct{ slopes, squares []float32 } // by word

// gather adds the derivatives of the loss by the weights. Queries are short, so that one
// goroutine does it.
func (w *weights) gather(m *Model, blocks []*block) {
	for _, b := range blocks {
		for i, text := range b.queries.texts {
			slope := b.queries.slope(i, b.dimension)
			for _, e := range text {
				w.slopes[e.Word()] += float32(m.logs[e.Count()] * dot(slope, m.row(e.Word())))
			}
		}
	}
}

// update moves the weights of the touched words against their slopes. A weight is never
// negative.
func (w *weights) update(m *Model, touched []uint32, rate, scale float32) {
	for _, word := range touched {
		slope := w.slopes[word] * scale
		w.slopes[word] = 0
		if slope == 0 {
			continue
		}
		w.squares[word] += float32(slope * slope)
		step := float32(rate * (slope / (float32(math.Sqrt(float64(w.squares[word]))) + tiny)))
		m.Asked[word] = max(0, m.Asked[word]-step)
	}
}
