package served

import "fmt"

// Row is a vector of an answer that names the text it belongs to.
type Row struct {
	Index     int       `json:"index"`
	Embedding []float32 `json:"embedding"`
}

// InOrder puts the rows of an answer into the order of n texts. An index that is out of
// range or appears twice is an error.
func InOrder(rows []Row, n int) ([][]float32, error) {
	if len(rows) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(rows), n)
	}
	out := make([][]float32, n)
	for _, r := range rows {
		if r.Index < 0 || r.Index >= n || out[r.Index] != nil {
			return nil, fmt.Errorf("a vector with the index %d, out of range or for the second time", r.Index)
		}
		if out[r.Index] = r.Embedding; r.Embedding == nil {
			return nil, fmt.Errorf("no vector for text %d", r.Index)
		}
	}
	return out, nil
}
