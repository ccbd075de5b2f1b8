package eval

import (
	"slices"
	"time"
)

// Speed says how long indexing and answering took, in this process, on a machine that may be
// doing other things.
type Speed struct {
	// Index is the time of a first index, by repository.
	IndexMean   time.Duration `json:"index_mean_ns"`
	IndexMedian time.Duration `json:"index_median_ns"`
	// Query is the time of an answer by the ranking as it is, embedding included, freshness
	// check and reading of the hits' texts excluded; Queries is how many there were.
	QueryMedian time.Duration `json:"query_median_ns"`
	Query95th   time.Duration `json:"query_p95_ns"`
	Queries     int           `json:"queries"`
}

// stopwatch keeps what Speed sums up.
type stopwatch struct{ indexed, answered []time.Duration }

// Speed sums up; everything is 0 before a repository was evaluated.
func (r *Report) Speed() Speed {
	s := Speed{
		IndexMedian: quantile(r.watch.indexed, 50), Queries: len(r.watch.answered),
		QueryMedian: quantile(r.watch.answered, 50), Query95th: quantile(r.watch.answered, 95),
	}
	for _, took := range r.watch.indexed {
		s.IndexMean += took
	}
	s.IndexMean /= time.Duration(max(1, len(r.watch.indexed)))
	return s
}

// quantile is the smallest duration that so many percent of all do not exceed.
func quantile(took []time.Duration, percent int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[(len(sorted)*percent+99)/100-1]
}
