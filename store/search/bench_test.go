package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

// perFile is how many chunks a generated file has.
const perFile = 5

// generated is a view of 65,000 chunks.
var generated = sync.OnceValues(func() (*memory, store.View) { return generate(65_000) })

// generate makes a view of some chunks in five segments, with words as unevenly spread as
// in source code and vectors of dimension 256.
func generate(chunks int) (*memory, store.View) {
	const dimension = 256
	files := chunks / perFile
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 20, 60_000)
	m, view := newMemory(), store.View{}
	var part []segment.File
	for i := range files {
		var texts []string
		for range perFile {
			text := fmt.Sprintf("def name%d\n", zipf.Uint64())
			for w := range 120 {
				text += fmt.Sprintf("w%s ", word(zipf.Uint64()))
				if w%12 == 11 {
					text += "\n"
				}
			}
			texts = append(texts, text)
		}
		f := source(fmt.Sprintf("dir%s/%s/%s%d.go", word(uint64(i%7)), word(uint64(i%113)), word(zipf.Uint64()), i), 0, texts...)
		f.Vectors = map[merkle.Hash]store.Vector{}
		for _, c := range f.Syntax.Chunks {
			f.Vectors[c.TextHash] = store.Quantize(unit(random, dimension))
		}
		if part = append(part, f); len(part) == files/5 {
			view.Segments = append(view.Segments, m.put(panicker{}, part, dimension))
			part = nil
		}
	}
	return m, view
}

func word(n uint64) string {
	out := ""
	for ; n > 0 || out == ""; n /= 26 {
		out += string(rune('a' + n%26))
	}
	return out
}

func unit(random *rand.Rand, dimension int) []float32 {
	v := make([]float32, dimension)
	for i := range v {
		v[i] = float32(random.NormFloat64() / 16)
	}
	return v
}

type panicker struct{}

func (panicker) Fatalf(format string, arguments ...any) { panic(fmt.Sprintf(format, arguments...)) }

func BenchmarkSearch(b *testing.B) {
	m, view := generated()
	random := rand.New(rand.NewPCG(3, 4))
	e := search.New(m, embedder{vector: unit(random, 256)}, search.Options{})
	cases := []struct {
		name string
		q    search.Query
	}{
		{"hybrid rare words", search.Query{Text: "wzzb wqqc wabc"}},
		{"hybrid common words", search.Query{Text: "wa wb wc wd we wf wg wh"}},
		{"text common words", search.Query{Text: "wa wb wc wd we wf wg wh", Mode: search.ModeText}},
		{"semantic", search.Query{Text: "wa", Mode: search.ModeSemantic}},
		{"hybrid filtered", search.Query{Text: "wa wzzb", Paths: []string{"dirb/**"}, Languages: []string{"go"}}},
		{"hybrid explained", search.Query{Text: "wa wb wzzb", Explain: true}},
		{"symbol", search.Query{Text: "name12", Mode: search.ModeSymbol}},
		{"path", search.Query{Text: "dirb", Mode: search.ModePath}},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r, err := e.Search(b.Context(), view, c.q); err != nil || r.Total == 0 {
					b.Fatalf("%d hits, %v", r.Total, err)
				}
			}
		})
	}
}

// BenchmarkQuery reports the times of hybrid queries of one to eight words over 20,000,
// 65,000 and 300,000 chunks, with the freshness check left out.
func BenchmarkQuery(b *testing.B) {
	for _, chunks := range []int{20_000, 65_000, 300_000} {
		b.Run(fmt.Sprint(chunks), func(b *testing.B) {
			m, view := generate(chunks)
			random := rand.New(rand.NewPCG(5, 6))
			zipf := rand.NewZipf(random, 1.1, 20, 60_000)
			e := search.New(m, embedder{vector: unit(random, 256)}, search.Options{})
			var took []time.Duration
			for b.Loop() {
				var text strings.Builder
				for range 1 + random.IntN(8) {
					fmt.Fprintf(&text, "w%s ", word(zipf.Uint64()))
				}
				began := time.Now()
				if _, err := e.Search(b.Context(), view, search.Query{Text: text.String()}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1e3, "p50-ms")
			b.ReportMetric(took[len(took)*95/100].Seconds()*1e3, "p95-ms")
		})
	}
}
