package served

import "fmt"

// Row is a vector of an answer that names the text it belongs to.
type Row struct {
	Index     int       `json:"index"`
	Embedding []float32 `json:"embedding"`
}

// InOrder puts the rows of an answer into the order of n texts. A text without a row has nil.
// It is an error when nothing says for certain which row is whose: an index is out of range or
// appears twice, or rows are missing and the others are numbered as if they were all.
func InOrder(rows []Row, n int) ([][]float32, error) {
	out, seen := make([][]float32, n), make([]bool, n)
	last := -1
	for _, r := range rows {
		if r.Index < 0 || r.Index >= n || seen[r.Index] {
			return nil, fmt.Errorf("%d vectors for %d texts, one with the index %d, out of range or for the second time", len(rows), n, r.Index)
		}
		out[r.Index], seen[r.Index] = r.Embedding, true
		last = max(last, r.Index)
	}
	if len(rows) < n && last == len(rows)-1 {
		return nil, fmt.Errorf("%d vectors for %d texts", len(rows), n)
	}
	return out, nil
}
