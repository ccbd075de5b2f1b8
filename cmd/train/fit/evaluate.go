package fit

import (
	"slices"

	"github.com/freshet/freshet/cmd/train/pairs"
)

// Split takes one pair in n of a set away, for evaluation: those whose query has a hash
// that is a multiple of n, so that equal queries stay on one side.
func Split(set *pairs.Set, n uint64) (held []pairs.Pair) {
	set.Pairs = slices.DeleteFunc(set.Pairs, func(p pairs.Pair) bool {
		if hash(p.Query)%n != 0 {
			return false
		}
		held = append(held, p)
		return true
	})
	return held
}

// hash is FNV-1a over the numbers of the words, a pure function of the mining.
func hash(text []pairs.Entry) uint64 {
	h := uint64(14695981039346656037)
	for _, e := range text {
		h = (h ^ uint64(e.Word())) * 1099511628211
	}
	return h ^ h>>29
}

// Rank is the mean reciprocal rank of the code of a held-out pair among candidates, the
// other held-out codes of its neighbourhood, by language; "" is the mean over all pairs.
func Rank(m *Model, v *Vocabulary, set *pairs.Set, held []pairs.Pair, candidates int) map[string]float64 {
	sums, counts := map[string]float64{}, map[string]int{}
	scratch := map[uint32]int{}
	query := make([]float32, m.Dimension)
	for group := range slices.Chunk(held, candidates) {
		codes := make([][]float32, len(group))
		for i, p := range group {
			codes[i] = make([]float32, m.Dimension)
			m.Embed(codes[i], v.Bag(p.Code, scratch), false)
		}
		for i, p := range group {
			m.Embed(query, v.Bag(p.Query, scratch), true)
			own, rank := dot(query, codes[i]), 1
			for j, code := range codes {
				if j != i && dot(query, code) >= own {
					rank++
				}
			}
			for _, name := range []string{"", set.Languages[p.Language]} {
				sums[name] += 1 / float64(rank)
				counts[name]++
			}
		}
	}
	for name, n := range counts {
		sums[name] /= float64(n)
	}
	return sums
}
