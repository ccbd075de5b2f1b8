package fit

import (
	"math"
	"math/rand/v2"

	"github.com/freshet/freshet/cmd/train/pairs"
)

// sif is the frequency at which a word begins at half its length.
const sif = 1e-3

// Model is a table of word vectors in the making.
type Model struct {
	Dimension int
	Rows      []float32 // Dimension components a word
	logs      [256]float32
}

// NewModel returns a model of random rows, each shortened by the frequency of its word.
func NewModel(v *Vocabulary, dimension int, seed uint64) *Model {
	m := &Model{Dimension: dimension, Rows: make([]float32, len(v.Words)*dimension)}
	random := rand.New(rand.NewPCG(seed, 1))
	for row := range v.Words {
		scale := sif / (sif + v.Shares[row]) / math.Sqrt(float64(dimension))
		for i := range dimension {
			m.Rows[row*dimension+i] = float32(random.NormFloat64() * scale)
		}
	}
	for n := range m.logs {
		m.logs[n] = float32(1 + math.Log(float64(max(n, 1))))
	}
	return m
}

func (m *Model) row(word int) []float32 {
	return m.Rows[word*m.Dimension : (word+1)*m.Dimension]
}

// Embed writes the unit vector of a text to out and returns its length before.
func (m *Model) Embed(out []float32, text []pairs.Entry) (norm float32) {
	clear(out)
	for _, e := range text {
		axpy(out, m.logs[e.Count()], m.row(e.Word()))
	}
	norm = float32(math.Sqrt(float64(dot(out, out))))
	if norm == 0 {
		return 0
	}
	for i := range out {
		out[i] /= norm
	}
	return norm
}
