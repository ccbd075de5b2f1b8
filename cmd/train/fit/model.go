package fit

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/freshet/freshet/cmd/train/pairs"
)

// sif is the frequency at which a word begins at half its length.
const sif = 1e-3

// Model is a table of word vectors in the making.
type Model struct {
	Dimension int
	Rows      []float32 // Dimension components a word
	// Asked is what a row is multiplied with in a query, by word: "how" and "the" say less in
	// a question than in code.
	Asked []float32
	logs  [256]float32
}

// NewModel returns a model of random rows, each shortened by the frequency of its word.
func NewModel(v *Vocabulary, dimension int, seed uint64) *Model {
	m := &Model{Dimension: dimension, Rows: make([]float32, len(v.Words)*dimension)}
	m.Asked = slices.Repeat([]float32{1}, len(v.Words))
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

// weight is what a row is multiplied with in a text.
func (m *Model) weight(e pairs.Entry, query bool) float32 {
	if query {
		return m.logs[e.Count()] * m.Asked[e.Word()]
	}
	return m.logs[e.Count()]
}

// Embed writes the unit vector of a text to out and returns its length before.
func (m *Model) Embed(out []float32, text []pairs.Entry, query bool) (norm float32) {
	clear(out)
	for ; len(text) >= 4; text = text[4:] {
		axpy4(out, [4]float32{m.weight(text[0], query), m.weight(text[1], query), m.weight(text[2], query), m.weight(text[3], query)},
			m.row(text[0].Word()), m.row(text[1].Word()), m.row(text[2].Word()), m.row(text[3].Word()))
	}
	for _, e := range text {
		axpy(out, m.weight(e, query), m.row(e.Word()))
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
