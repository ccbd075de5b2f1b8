package served

import (
	"slices"
	"sync"
)

// keptQueries is how many queries are remembered: an agent pages through an answer, and
// asks the same again after an edit.
const keptQueries = 64

// queries remembers the vectors of recent queries. Its zero value is empty.
type queries struct {
	mu     sync.Mutex
	kept   map[string][]float32
	recent []string // the oldest first
}

func (q *queries) get(text string) ([]float32, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	v, ok := q.kept[text]
	if ok {
		i := slices.Index(q.recent, text)
		q.recent = append(slices.Delete(q.recent, i, i+1), text)
	}
	return slices.Clone(v), ok
}

func (q *queries) put(text string, v []float32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.kept[text]; ok {
		return
	}
	if q.kept == nil {
		q.kept = map[string][]float32{}
	}
	if len(q.recent) == keptQueries {
		delete(q.kept, q.recent[0])
		q.recent = slices.Delete(q.recent, 0, 1)
	}
	q.kept[text], q.recent = slices.Clone(v), append(q.recent, text)
}
