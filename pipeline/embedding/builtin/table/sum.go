package table

import (
	"math"
	"unsafe"

	"github.com/freshet/freshet/store/lexical"
)

// The integer sums. A weight has at most 15 bits and a biased component 8, so a lane of 32
// bits holds the sum of lanes of them.
const (
	maxCount  = 64
	maxLog    = 1 + 4.158883083359672 // 1 + ln maxCount
	maxWeight = 1<<15 - 1
	lanes     = 256
	low       = 0x000000ff000000ff
)

// Side says which of its two scales a row is summed with.
type Side uint8

// The sides.
const (
	Document Side = iota
	Query
)

// Pool sums the rows of texts, one text at a time. It is reused to avoid allocation and
// must not be used from two goroutines at once.
type Pool struct {
	table   *Table
	scanner lexical.Scanner
	counts  []uint16 // by ordinal, zero between texts
	rows    []uint32 // the distinct rows of the text, in the order of first use
	scratch []uint32
	weights []uint64
	offsets []uint32
	sums    []int64
	logs    [maxCount + 1]float64
}

// NewPool returns a pool over a table.
func NewPool(t *Table) *Pool {
	p := &Pool{table: t, counts: make([]uint16, t.words), sums: make([]int64, t.dimension)}
	for n := 1; n <= maxCount; n++ {
		p.logs[n] = 1 + math.Log(float64(n))
	}
	return p
}

// Add counts the words of a text.
func (p *Pool) Add(text []byte) {
	p.scanner.Reset(text)
	for p.scanner.Next() {
		p.AddWord(p.scanner.Token())
	}
}

// AddWord counts a word.
func (p *Pool) AddWord(token []byte) {
	if n, ok := p.table.Lookup(token); ok {
		p.count(uint32(n))
		return
	}
	p.scratch = Cut(p.scratch[:0], token, p.table.Lookup)
	for _, row := range p.scratch {
		p.count(row)
	}
}

func (p *Pool) count(row uint32) {
	n := p.counts[row]
	if n == 0 {
		p.rows = append(p.rows, row)
	}
	p.counts[row] = min(n+1, maxCount)
}

// Vector returns the unit vector of what was counted, or the zero vector of nothing, and
// starts over.
func (p *Pool) Vector(side Side) []float32 {
	clear(p.sums)
	for rows := p.rows; len(rows) > 0; {
		n := min(len(rows), lanes)
		p.sum(rows[:n], side)
		rows = rows[n:]
	}
	p.rows = p.rows[:0]
	norm := 0.0
	for _, x := range p.sums {
		norm += float64(float64(x) * float64(x)) // the conversion forbids a fused multiply-add
	}
	out := make([]float32, len(p.sums))
	if norm == 0 {
		return out
	}
	inverse := 1 / math.Sqrt(norm)
	for i, x := range p.sums {
		out[i] = float32(float64(x) * inverse)
	}
	return out
}

// sum adds at most lanes rows to the sums. Eight components are taken at a time, two in
// each of four words, because the rows of a text stay in the first cache.
func (p *Pool) sum(rows []uint32, side Side) {
	t, scales := p.table, p.table.scales
	if side == Query {
		scales = t.asked
	}
	p.weights, p.offsets = p.weights[:0], p.offsets[:0]
	total := int64(0)
	for _, row := range rows {
		scale := float64(math.Float32frombits(word(scales, int(4*row))))
		weight := uint64(math.Round(float64(scale * p.logs[p.counts[row]] / t.unit)))
		p.counts[row] = 0
		p.weights = append(p.weights, weight)
		p.offsets = append(p.offsets, row*uint32(t.dimension))
		total += int64(weight)
	}
	base := unsafe.StringData(t.rows)
	weights, offsets := p.weights, p.offsets[:len(p.weights)]
	for i := 0; i < t.dimension; i += 8 {
		var a, b, c, d uint64
		for j, weight := range weights {
			x := eight(base, offsets[j]+uint32(i))
			a += (x & low) * weight
			b += (x >> 8 & low) * weight
			c += (x >> 16 & low) * weight
			d += (x >> 24 & low) * weight
		}
		for k, lane := range [4]uint64{a, b, c, d} {
			p.sums[i+k] += int64(lane&math.MaxUint32) - bias*total
			p.sums[i+k+4] += int64(lane>>32) - bias*total
		}
	}
}
