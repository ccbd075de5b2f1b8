package fit

import (
	"cmp"
	"slices"

	"github.com/freshet/freshet/cmd/train/pairs"
	"github.com/freshet/freshet/pipeline/embedding/builtin/table"
)

// Vocabulary is the words that get a row, most frequent first, and how a word of the set's
// dictionary is written in rows.
type Vocabulary struct {
	Words  []string
	Shares []float64  // of all words of the texts, by row
	rows   [][]uint32 // by number in the dictionary
}

// VocabularyOptions bound a vocabulary.
type VocabularyOptions struct {
	// MinCount and MinSources are how often, and in how many sources, a word must occur.
	MinCount, MinSources int
	// MaxWords is the most words; the most frequent ones are kept.
	MaxWords int
}

// NewVocabulary chooses the words.
func NewVocabulary(set *pairs.Set, o VocabularyOptions) *Vocabulary {
	counts, sources := count(set)
	var chosen []int
	for w, n := range counts {
		if n >= o.MinCount && sources[w] >= o.MinSources {
			chosen = append(chosen, w)
		}
	}
	slices.SortFunc(chosen, func(a, b int) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(set.Words[a], set.Words[b]))
	})
	chosen = chosen[:min(len(chosen), o.MaxWords)]
	v := &Vocabulary{rows: make([][]uint32, len(set.Words))}
	numbers, total := make(map[string]int, len(chosen)), 0
	for _, n := range counts {
		total += n
	}
	for row, w := range chosen {
		v.Words = append(v.Words, set.Words[w])
		v.Shares = append(v.Shares, float64(counts[w])/float64(total))
		numbers[set.Words[w]] = row
		v.rows[w] = []uint32{uint32(row)}
	}
	lookup := func(token []byte) (int, bool) { n, ok := numbers[string(token)]; return n, ok }
	for w, word := range set.Words {
		if v.rows[w] == nil {
			v.rows[w] = table.Cut(nil, []byte(word), lookup)
		}
	}
	return v
}

// count returns how often each word occurs, and in how many sources.
func count(set *pairs.Set) (counts, sources []int) {
	counts, sources = make([]int, len(set.Words)), make([]int, len(set.Words))
	last := make([]int32, len(set.Words))
	order := make([]int, len(set.Pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(set.Pairs[a].Source, set.Pairs[b].Source) })
	for _, i := range order {
		p := &set.Pairs[i]
		for _, text := range [][]pairs.Entry{p.Query, p.Code} {
			for _, e := range text {
				counts[e.Word()] += e.Count()
				if last[e.Word()] != p.Source+1 {
					last[e.Word()] = p.Source + 1
					sources[e.Word()]++
				}
			}
		}
	}
	return counts, sources
}

// Bag returns a text in rows, with counts added where words share a row.
func (v *Vocabulary) Bag(text []pairs.Entry, scratch map[uint32]int) []pairs.Entry {
	clear(scratch)
	bag := make([]pairs.Entry, 0, len(text))
	for _, e := range text {
		for _, row := range v.rows[e.Word()] {
			at, held := scratch[row]
			if !held {
				scratch[row] = len(bag)
				bag = append(bag, pairs.NewEntry(int(row), e.Count()))
				continue
			}
			bag[at] = pairs.NewEntry(int(row), bag[at].Count()+e.Count())
		}
	}
	return slices.Clip(bag)
}
