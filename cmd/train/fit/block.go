package fit

import "github.com/freshet/freshet/cmd/train/pairs"

// side is one side of a block: the texts' unit vectors, their lengths before, and the
// derivatives of the loss, first by the unit vector and then by the sum of rows.
type side struct {
	query   bool
	texts   [][]pairs.Entry
	units   []float32
	norms   []float32
	slopes  []float32
	largest []float32 // of the text's similarities
	totals  []float32 // of their exponentials
}

// block is pairs that are each other's negatives.
type block struct {
	dimension     int
	queries, code side
	similar       []float32 // similarities, then derivatives by them, query by code
}

func newBlock(size, dimension int) *block {
	b := &block{dimension: dimension, similar: make([]float32, size*size)}
	b.queries.query = true
	for _, s := range []*side{&b.queries, &b.code} {
		s.units, s.slopes = make([]float32, size*dimension), make([]float32, size*dimension)
		s.norms, s.largest, s.totals = make([]float32, size), make([]float32, size), make([]float32, size)
	}
	return b
}

func (b *block) load(batch []example) {
	b.queries.texts, b.code.texts = b.queries.texts[:0], b.code.texts[:0]
	for _, e := range batch {
		b.queries.texts = append(b.queries.texts, e.query)
		b.code.texts = append(b.code.texts, e.code)
	}
}

func (s *side) unit(i, dimension int) []float32 { return s.units[i*dimension : (i+1)*dimension] }

func (s *side) slope(i, dimension int) []float32 { return s.slopes[i*dimension : (i+1)*dimension] }

// forward computes the vectors and returns the sum over the pairs of the loss: half of the
// cross entropies of the query among the codes and of the code among the queries.
func (b *block) forward(m *Model, temperature float32) (loss float64) {
	n := len(b.queries.texts)
	for _, s := range []*side{&b.queries, &b.code} {
		for i, text := range s.texts {
			s.norms[i] = m.Embed(s.unit(i, b.dimension), text, s.query)
			s.largest[i], s.totals[i] = -1/temperature, 0
		}
	}
	for i := range n {
		row := b.similar[i*n : (i+1)*n]
		dots(row, b.queries.unit(i, b.dimension), b.code.units)
		for j, x := range row {
			x /= temperature
			row[j] = x
			b.queries.largest[i] = max(b.queries.largest[i], x)
			b.code.largest[j] = max(b.code.largest[j], x)
		}
	}
	for i := range n {
		for j := range n {
			x := b.similar[i*n+j]
			b.queries.totals[i] += exp(x - b.queries.largest[i])
			b.code.totals[j] += exp(x - b.code.largest[j])
		}
	}
	for i := range n {
		x := b.similar[i*n+i]
		loss += float64(log(b.queries.totals[i])+b.queries.largest[i]-x) / 2
		loss += float64(log(b.code.totals[i])+b.code.largest[i]-x) / 2
	}
	return loss
}

// backward computes the slopes: the derivatives of the loss by the sums of rows.
func (b *block) backward(temperature float32) {
	n := len(b.queries.texts)
	for i := range n {
		for j := range n {
			x := b.similar[i*n+j]
			d := exp(x-b.queries.largest[i])/b.queries.totals[i] + exp(x-b.code.largest[j])/b.code.totals[j]
			if i == j {
				d -= 2
			}
			b.similar[i*n+j] = d / (2 * temperature)
		}
	}
	clear(b.queries.slopes[:n*b.dimension])
	clear(b.code.slopes[:n*b.dimension])
	for i := range n {
		query, slope := b.queries.unit(i, b.dimension), b.queries.slope(i, b.dimension)
		for j := range n {
			d := b.similar[i*n+j]
			if d < negligible && d > -negligible {
				continue
			}
			axpy(slope, d, b.code.unit(j, b.dimension))
			axpy(b.code.slope(j, b.dimension), d, query)
		}
	}
	for _, s := range []*side{&b.queries, &b.code} {
		for i := range n {
			s.throughUnit(i, b.dimension)
		}
	}
}

// negligible derivatives are left out: most negatives are far away.
const negligible = 1e-4

// throughUnit turns a derivative by the unit vector into one by the sum of rows.
func (s *side) throughUnit(i, dimension int) {
	unit, slope := s.unit(i, dimension), s.slope(i, dimension)
	if s.norms[i] == 0 {
		clear(slope)
		return
	}
	axpy(slope, -dot(unit, slope), unit)
	for k := range slope {
		slope[k] /= s.norms[i]
	}
}
