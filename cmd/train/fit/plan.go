package fit

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/freshet/freshet/cmd/train/pairs"
)

// plan divides the pairs of an epoch into steps of blocks. A block holds pairs of one
// source, whose likeness makes them hard negatives; what is left of a source joins what is
// left of others of its language.
func (t *trainer) plan(set *pairs.Set, epoch int) (steps [][][]int) {
	random := rand.New(rand.NewPCG(t.Seed, uint64(epoch)+2))
	order := random.Perm(len(set.Pairs))
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(set.Pairs[a].Source, set.Pairs[b].Source)
	})
	var blocks [][]int
	rest := make([][]int, len(set.Languages))
	for group := range chunks(order, func(a, b int) bool { return set.Pairs[a].Source == set.Pairs[b].Source }) {
		for len(group) >= t.BlockSize {
			blocks = append(blocks, group[:t.BlockSize])
			group = group[t.BlockSize:]
		}
		for _, i := range group {
			language := set.Pairs[i].Language
			rest[language] = append(rest[language], i)
		}
	}
	for _, left := range rest {
		random.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
		for group := range slices.Chunk(left, t.BlockSize) {
			if len(group) > 1 { // a pair alone has no negative
				blocks = append(blocks, group)
			}
		}
	}
	random.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	return slices.Collect(slices.Chunk(blocks, t.Blocks))
}

// chunks iterates over the runs of a slice whose members are the same.
func chunks(all []int, same func(a, b int) bool) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		for start := 0; start < len(all); {
			end := start + 1
			for end < len(all) && same(all[start], all[end]) {
				end++
			}
			if !yield(all[start:end:end]) {
				return
			}
			start = end
		}
	}
}
