package table

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/store/lexical"
)

func open(t interface{ Fatal(...any) }, dimension int, rows []Row) *Table {
	data, err := Write(dimension, rows)
	if err != nil {
		t.Fatal(err)
	}
	table, err := Open(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// ramp is a row whose components tell it from others.
func ramp(word string, dimension, step int, scale float32) Row {
	row := Row{Word: word, Document: scale, Query: scale / 2}
	for i := range dimension {
		row.Components = append(row.Components, int8((i*step)%255-127))
	}
	return row
}

func TestLookup(t *testing.T) {
	t.Parallel()
	var rows []Row
	for i := range 500 {
		rows = append(rows, ramp(fmt.Sprintf("w%d", i*i), 8, i, 1))
	}
	table := open(t, 8, rows)
	for i, row := range rows {
		if n, ok := table.Lookup([]byte(row.Word)); !ok || n != i || table.Word(i) != row.Word {
			t.Errorf("%s is found as %d (%v), want %d", row.Word, n, ok, i)
		}
	}
	for _, word := range []string{"", "w", "w2", "x"} {
		if n, ok := table.Lookup([]byte(word)); ok {
			t.Errorf("%q is found as %d", word, n)
		}
	}
}

func TestUnknownWordsAreCut(t *testing.T) {
	t.Parallel()
	var rows []Row
	for _, word := range []string{"time", "stamp", "stamped", "out", "zon", "ti", "größe"} {
		rows = append(rows, ramp(word, 8, 3, 1))
	}
	table := open(t, 8, rows)
	cases := []struct {
		word string
		want []string
	}{
		{"time", []string{"time"}},
		{"timestamp", []string{"time", "stamp"}},
		{"timestamped", []string{"time", "stamped"}},
		{"xtimeout", []string{"time", "out"}},
		{"timezone", []string{"time", "zon"}},
		{"outoutoutoutout", []string{"out", "out", "out", "out"}},
		{"ti", []string{"ti"}},
		{"tix", nil},
		{"größen", []string{"größe"}},
		{"", nil},
	}
	for _, c := range cases {
		t.Run(c.word, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, n := range table.AppendRows(nil, []byte(c.word)) {
				got = append(got, table.Word(int(n)))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("pieces of %q (-want +got):\n%s", c.word, diff)
			}
		})
	}
}

// naive is the slow twin of Pool: the definition, in floating point.
func naive(table *Table, rows []Row, text string, side Side) []float64 {
	counts := map[uint32]int{}
	for _, word := range lexical.Words(text) {
		for _, n := range table.AppendRows(nil, []byte(word)) {
			counts[n] = min(counts[n]+1, maxCount)
		}
	}
	out, norm := make([]float64, table.Dimension()), 0.0
	for n, count := range counts {
		scale := float64(rows[n].Document)
		if side == Query {
			scale = float64(rows[n].Query)
		}
		for i, c := range rows[n].Components {
			out[i] += scale * (1 + math.Log(float64(count))) * float64(c)
		}
	}
	for _, x := range out {
		norm += x * x
	}
	for i := range out {
		if norm > 0 {
			out[i] /= math.Sqrt(norm)
		}
	}
	return out
}

func TestPoolAgainstDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dimension := 8 * rapid.IntRange(1, 5).Draw(t, "eights")
		var rows []Row
		scale := rapid.Float32Range(0.01, 2) // weights have 15 bits: what is far below the largest is coarse
		words := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{2,5}`), 1, 600, rapid.ID[string]).Draw(t, "words")
		for _, word := range words {
			row := Row{Word: word, Document: scale.Draw(t, "scale"), Query: rapid.OneOf(scale, rapid.Just[float32](0)).Draw(t, "asked")}
			for range dimension {
				row.Components = append(row.Components, int8(rapid.IntRange(-127, 127).Draw(t, "component")))
			}
			rows = append(rows, row)
		}
		table := open(t, dimension, rows)
		pool := NewPool(table)
		for range 3 { // a pool starts over after each text
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(words, "unknown")), 0, 900).Draw(t, "text"), " ")
			side := Side(rapid.IntRange(0, 1).Draw(t, "side"))
			want := naive(table, rows, text, side)
			pool.Add([]byte(text))
			got, along := pool.Vector(side), 0.0
			for i := range got {
				along += float64(got[i]) * want[i]
			}
			if length := math.Sqrt(squares(want)); length > 0 && along < 1-1e-4 && squares32(got) > 0 {
				t.Fatalf("cosine %.6f to the definition\ngot  %v\nwant %v", along, got, want)
			}
		}
	})
}

func squares(v []float64) (sum float64) {
	for _, x := range v {
		sum += x * x
	}
	return sum
}

func squares32(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

// More rows than a lane holds, all at their largest, must not run over.
func TestSumDoesNotOverflow(t *testing.T) {
	t.Parallel()
	var rows []Row
	var text strings.Builder
	for i := range 3 * lanes {
		word := fmt.Sprintf("%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676)
		rows = append(rows, Row{Word: word, Document: 1, Query: 1, Components: slices.Repeat([]int8{127, -127}, 4)})
		text.WriteString(strings.Repeat(word+" ", maxCount+5))
	}
	pool := NewPool(open(t, 8, rows))
	pool.Add([]byte(text.String()))
	want := float32(1 / math.Sqrt(8))
	for i, x := range pool.Vector(Document) {
		if sign := float32(1 - 2*(i%2)); math.Abs(float64(x-sign*want)) > 1e-6 {
			t.Errorf("component %d is %g, want %g", i, x, sign*want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string][]Row{
		"nothing": nil, "an empty word": {ramp("", 8, 1, 1)}, "a word twice": {ramp("a", 8, 1, 1), ramp("a", 8, 2, 1)},
		"a short row": {ramp("a", 7, 1, 1)},
	} {
		if _, err := Write(8, rows); err == nil {
			t.Errorf("%s is written", name)
		}
	}
	if _, err := Write(12, []Row{ramp("a", 12, 1, 1)}); err == nil {
		t.Error("12 components are written")
	}
}

// Whatever the bytes, Open either refuses them or what it opens embeds without a fault.
func FuzzOpen(f *testing.F) {
	data, err := Write(8, []Row{ramp("alpha", 8, 3, 1), ramp("beta", 8, 5, 2), ramp("gamma", 8, 7, 0.5)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add([]byte(magic))
	nan := slices.Clone(data)
	copy(nan[headerSize+4*8+4*3:], "\xff\xff\xff\xff")
	f.Add(nan)
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Open(string(data))
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("error %v is not ErrMalformed", err)
			}
			return
		}
		pool := NewPool(table)
		pool.Add([]byte("alpha beta betagamma delta"))
		for _, x := range pool.Vector(Query) {
			if math.IsNaN(float64(x)) {
				t.Fatal("a component is not a number")
			}
		}
	})
}
