package fit

import (
	"fmt"
	"testing"

	"github.com/freshet/freshet/cmd/train/pairs"
)

func TestBalance(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 9, 10, 11, 25, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			set := pairs.New()
			for i := range n {
				for language := range int16(2) {
					set.Add(pairs.Pair{Language: language, Kind: pairs.Doc, Source: int32(i * 10 / n)})
				}
			}
			Balance(set, Caps{pairs.Doc: 10})
			counts, sources := map[int16]int{}, map[int32]bool{}
			for _, p := range set.Pairs {
				counts[p.Language]++
				sources[p.Source] = true
			}
			want := min(n, 10)
			if counts[0] != want || counts[1] != want || len(sources) != want {
				t.Errorf("of %d pairs kept %v of %d sources, want %d each", n, counts, len(sources), want)
			}
		})
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	set := topics(10, 10)
	Sample(set, 7)
	if want := 15; len(set.Pairs) != want {
		t.Errorf("one in 7 of 100 are %d, want %d", len(set.Pairs), want)
	}
}
