package eval

import (
	"math"
	"strings"
)

// depth is how many hits count.
const depth = 10

// Scores are the figures of a query, or means of them. All lie in [0, 1].
type Scores struct {
	NDCG   float64 `json:"ndcg10"`
	Hit1   float64 `json:"hit1"`
	Recall float64 `json:"recall10"`
	MRR    float64 `json:"mrr10"`
}

// Score compares the first hits of an answer with the places that answer the query. The
// gain of a rank counts once, however many targets a hit covers (Järvelin and Kekäläinen,
// "Cumulated gain-based evaluation of IR techniques", 2002).
func Score(hits, targets []Span) Scores {
	hits = hits[:min(depth, len(hits))]
	var found [depth + 1]bool // by rank
	best, held := 0, 0
	for _, target := range targets {
		rank := firstRank(hits, target)
		if rank == 0 {
			continue
		}
		found[rank] = true
		held++
		if best == 0 || rank < best {
			best = rank
		}
	}
	if best == 0 {
		return Scores{}
	}
	gain, ideal := 0.0, 0.0
	for rank := 1; rank <= depth; rank++ {
		if found[rank] {
			gain += discount(rank)
		}
		if rank <= len(targets) {
			ideal += discount(rank)
		}
	}
	s := Scores{NDCG: gain / ideal, Recall: float64(held) / float64(len(targets)), MRR: 1 / float64(best)}
	if best == 1 {
		s.Hit1 = 1
	}
	return s
}

func discount(rank int) float64 { return 1 / math.Log2(float64(rank)+1) }

// firstRank is the rank of the first hit that covers a target, 0 when none does.
func firstRank(hits []Span, target Span) int {
	for i, hit := range hits {
		if covers(hit, target) {
			return i + 1
		}
	}
	return 0
}

// covers reports whether a hit is on the file of a target, and on its lines where both
// have any. Either path may have more folders in front.
func covers(hit, target Span) bool {
	if hit.Path != target.Path && !strings.HasSuffix(hit.Path, "/"+target.Path) && !strings.HasSuffix(target.Path, "/"+hit.Path) {
		return false
	}
	return target.Start == 0 || hit.Start == 0 || hit.Start <= target.End && target.Start <= hit.End
}

// mean is the mean of scores, zero of none.
func mean(all []Scores) (m Scores) {
	if len(all) == 0 {
		return m
	}
	for _, s := range all {
		m.NDCG += s.NDCG
		m.Hit1 += s.Hit1
		m.Recall += s.Recall
		m.MRR += s.MRR
	}
	n := float64(len(all))
	return Scores{m.NDCG / n, m.Hit1 / n, m.Recall / n, m.MRR / n}
}
