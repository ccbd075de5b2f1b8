package fit

import (
	"math"

	"github.com/freshet/freshet/pipeline/embedding/builtin/table"
)

// Quantise returns the model in 8 bits a component, with a scale a row.
func (m *Model) Quantise(v *Vocabulary) ([]byte, error) {
	rows := make([]table.Row, len(v.Words))
	for i, word := range v.Words {
		row := table.Row{Word: word, Components: make([]int8, m.Dimension)}
		largest := 0.0
		for _, x := range m.row(i) {
			largest = max(largest, math.Abs(float64(x)))
		}
		if largest > 0 {
			row.Document = float32(largest / 127)
			for k, x := range m.row(i) {
				row.Components[k] = int8(math.Round(float64(x) / largest * 127))
			}
		}
		row.Query = row.Document * m.Asked[i]
		rows[i] = row
	}
	return table.Write(m.Dimension, rows)
}
