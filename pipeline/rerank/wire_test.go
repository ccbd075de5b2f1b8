package rerank

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// An answer in any order and any of the shapes gives the scores in the order of the texts.
func TestScoresAreReadInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 40).Draw(t, "scores")
		places := make([]int, len(want))
		for i := range places {
			places[i] = i
		}
		name := rapid.SampledFrom([]string{"relevance_score", "score"}).Draw(t, "name")
		list := []map[string]any{}
		for _, place := range rapid.Permutation(places).Draw(t, "order") {
			list = append(list, map[string]any{"index": place, name: want[place], "document": map[string]any{"text": "a"}})
		}
		shape := rapid.SampledFrom([]string{"", "results", "data"}).Draw(t, "shape")
		var answer any = list
		if shape != "" {
			answer = map[string]any{"model": "m", shape: list, "usage": map[string]int{"total_tokens": 1}}
		}
		data, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readScores(data, len(want))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%s: %v (-want +got):\n%s", data, err, diff)
		}
		if _, err := readScores(data, len(want)+1); err == nil {
			t.Fatalf("%d scores are taken for %d", len(want), len(want)+1)
		}
	})
}

// Whatever a server says, it is refused or is one finite score for each text.
func FuzzReadScores(f *testing.F) {
	for _, seed := range []string{`[]`, `[{"index":0,"score":1},{"index":1,"score":2}]`, `{"results":[{"index":1,"relevance_score":1e999}]}`,
		`{"data":[{"index":1,"relevance_score":1},{"index":0,"relevance_score":null}]}`, `null`, ` [`, `{"results":{}}`, `[{"index":9223372036854775807,"score":1},{}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		scores, err := readScores(answer, 2)
		if err == nil && len(scores) != 2 {
			t.Fatalf("%q gives %v", answer, scores)
		}
		for _, s := range scores {
			if math.IsNaN(s) || math.IsInf(s, 0) {
				t.Fatalf("%q gives %v", answer, scores)
			}
		}
	})
}
