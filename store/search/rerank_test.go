package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
)

// judge is a reranker that scores by a function and remembers what it was asked.
type judge struct {
	of func(document string) float64

	mu    sync.Mutex
	err   error
	cut   int // scores left out at the end
	asked [][]string
}

func (j *judge) Rerank(_ context.Context, _ string, documents []string) ([]float64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked = append(j.asked, slices.Clone(documents))
	if j.err != nil {
		return nil, j.err
	}
	scores := make([]float64, 0, len(documents))
	for _, d := range documents[:len(documents)-j.cut] {
		scores = append(scores, j.of(d))
	}
	return scores, nil
}

func (j *judge) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = err
}

// backwards likes the files that the engine likes least: those with few needles.
func backwards(document string) float64 { return -float64(strings.Count(document, "needle")) }

// haystack is files a, b, c, ... of which each has one needle less than the one before.
func haystack(n int) []segment.File {
	var files []segment.File
	for i := range n {
		files = append(files, source(fmt.Sprintf("%c.go", 'a'+i), 0, strings.Repeat("needle ", n-i)+"and hay\n"))
	}
	return files
}

type reranked struct {
	*search.Engine
	view store.View
}

func rerankedEngine(t *testing.T, files []segment.File, o search.Options) reranked {
	t.Helper()
	m := newMemory()
	e := search.New(m, nil, o)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return reranked{e, store.View{Segments: []store.SegmentRef{m.put(t, files, 0)}}}
}

func (e reranked) ask(t *testing.T, q search.Query) search.Result {
	t.Helper()
	if q.Text == "" {
		q.Text = "needle hay"
	}
	r, err := e.Search(t.Context(), e.view, q)
	if err != nil {
		t.Fatalf("search %+v: %v", q, err)
	}
	return r
}

func files(r search.Result) string {
	var b strings.Builder
	for _, h := range r.Hits {
		b.WriteString(strings.TrimSuffix(h.Path, ".go"))
	}
	return b.String()
}

func skipped(r search.Result) string {
	for _, w := range r.Warnings {
		if w.Code == search.WarnRerank {
			return w.Message
		}
	}
	return ""
}

func TestRerankReordersTheTop(t *testing.T) {
	t.Parallel()
	j := &judge{of: backwards}
	e := rerankedEngine(t, haystack(6), search.Options{Reranking: search.Reranking{Reranker: j, Top: 4}})
	r := e.ask(t, search.Query{Explain: true})
	if got := files(r); got != "dcbaef" || skipped(r) != "" {
		t.Fatalf("order %s, warnings %v, want dcbaef", got, r.Warnings)
	}
	if x := r.Hits[0].Explain; x.Rerank == nil || *x.Rerank != -3 || x.RankBefore != 4 {
		t.Errorf("explain of the first hit is %+v, want rerank -3 from place 4", x)
	}
	if x := r.Hits[4].Explain; x.Rerank != nil || x.RankBefore != 0 {
		t.Errorf("explain of a hit behind the top is %+v, want no rerank", x)
	}
	for i := range r.Hits[1:] {
		if r.Hits[i].Score <= r.Hits[i+1].Score {
			t.Errorf("score %v of hit %d is not above %v", r.Hits[i].Score, i, r.Hits[i+1].Score)
		}
	}
	if want := "a.go\n" + strings.Repeat("needle ", 6) + "and hay\n"; j.asked[0][0] != want {
		t.Errorf("the first document is %q, want %q", j.asked[0][0], want)
	}
}

func TestRerankIsForQueriesInWords(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		query search.Query
		want  bool
	}{
		{"hybrid", search.Query{}, true},
		{"semantic", search.Query{Mode: search.ModeSemantic}, true},
		{"a name", search.Query{Text: "needle"}, false},
		{"a qualified name", search.Query{Text: "hay.needle"}, false},
		{"text", search.Query{Mode: search.ModeText}, false},
		{"symbol", search.Query{Mode: search.ModeSymbol}, false},
		{"path", search.Query{Mode: search.ModePath, Text: "a.go"}, false},
		{"regex", search.Query{Mode: search.ModeRegex, Text: "needle|hay"}, false},
		{"behind the top", search.Query{Offset: 3}, false},
		{"one hit", search.Query{Paths: []string{"a.go"}}, false},
		{"no hit", search.Query{Text: "nothing like it"}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := &judge{of: backwards}
			e := rerankedEngine(t, haystack(5), search.Options{Reranking: search.Reranking{Reranker: j, Top: 3}})
			if e.ask(t, c.query); len(j.asked) > 0 != c.want {
				t.Errorf("asked %d times, want some: %v", len(j.asked), c.want)
			}
		})
	}
}

func TestRerankFallsBack(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		j    *judge
		why  string
	}{
		{"an error", &judge{err: errors.New("the host is down")}, "the host is down"},
		{"too few", &judge{of: backwards, cut: 1}, "gave 3 scores for 4 texts"},
		{"not a number", &judge{of: func(string) float64 { return math.NaN() }}, "NaN"},
		{"infinite", &judge{of: func(string) float64 { return math.Inf(-1) }}, "-Inf"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := rerankedEngine(t, haystack(4), search.Options{Reranking: search.Reranking{Reranker: c.j}})
			r := e.ask(t, search.Query{Explain: true})
			if got := files(r); got != "abcd" || !strings.Contains(skipped(r), c.why) {
				t.Errorf("order %s, warnings %v, want abcd and %q", got, r.Warnings, c.why)
			}
			if x := r.Hits[0].Explain; x.Rerank != nil {
				t.Errorf("explain shows a rerank of %v", *x.Rerank)
			}
		})
	}
}

// patient waits for the end of its context.
type patient struct{ entered chan struct{} }

func (p patient) Rerank(ctx context.Context, _ string, _ []string) ([]float64, error) {
	close(p.entered)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestRerankHasADeadline(t *testing.T) {
	t.Parallel()
	p := patient{make(chan struct{})}
	e := rerankedEngine(t, haystack(3), search.Options{Reranking: search.Reranking{Reranker: p, Deadline: 20 * time.Millisecond}})
	r := e.ask(t, search.Query{})
	if got := files(r); got != "abc" || !strings.Contains(skipped(r), "within 20ms") {
		t.Errorf("order %s, warnings %v, want abc and the deadline", got, r.Warnings)
	}
}

func TestRerankEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	p := patient{make(chan struct{})}
	e := rerankedEngine(t, haystack(3), search.Options{Reranking: search.Reranking{Reranker: p, Deadline: time.Hour}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := e.Search(ctx, e.view, search.Query{Text: "needle hay"})
		ended <- err
	}()
	<-p.entered
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want canceled", err)
	}
}

// turn reads all pages of so many hits and returns their files in order.
func turn(t *testing.T, e reranked, size int) string {
	t.Helper()
	var all strings.Builder
	for offset := 0; ; offset += size {
		r := e.ask(t, search.Query{Limit: size, Offset: offset})
		all.WriteString(files(r))
		if offset+size >= r.Total {
			return all.String()
		}
	}
}

func TestPagesOfARerankedQueryAgree(t *testing.T) {
	t.Parallel()
	j := &judge{of: backwards}
	e := rerankedEngine(t, haystack(8), search.Options{Reranking: search.Reranking{Reranker: j, Top: 5}})
	for size := 1; size <= 8; size++ {
		if got := turn(t, e, size); got != "edcbafgh" {
			t.Errorf("pages of %d: %s, want edcbafgh", size, got)
		}
	}
	if len(j.asked) != 1 {
		t.Errorf("asked %d times for one order, want once", len(j.asked))
	}
}

func TestLaterPagesKeepToTheFirst(t *testing.T) {
	t.Parallel()
	j := &judge{of: backwards}
	down := errors.New("down")
	now := time.Unix(0, 0)
	e := rerankedEngine(t, haystack(4), search.Options{Reranking: search.Reranking{Reranker: j}, Now: func() time.Time { return now }})
	page := func(offset int) string {
		r := e.ask(t, search.Query{Limit: 2, Offset: offset})
		if skipped(r) != "" {
			return files(r) + " skipped"
		}
		return files(r)
	}
	j.fail(down)
	steps := []struct {
		name string
		got  func() string
		want string
	}{
		{"the first page fails", func() string { return page(0) }, "ab skipped"},
		{"the second keeps to it", func() string { j.fail(nil); return page(2) }, "cd skipped"},
		{"the first tries again", func() string { return page(0) }, "dc"},
		{"the second follows", func() string { j.fail(down); return page(2) }, "ba"},
		{"the first stays", func() string { return page(0) }, "dc"},
		{"until it is old", func() string { now = now.Add(time.Hour); return page(2) }, "cd skipped"},
	}
	for _, s := range steps {
		if got := s.got(); got != s.want {
			t.Errorf("%s: %s, want %s", s.name, got, s.want)
		}
	}
}

func TestRerankedTextIsBounded(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, text string }{
		{"long", strings.Repeat("needle ", 100)},
		{"wide", "needle " + strings.Repeat("é€😀", 50)},
		{"not UTF-8", "needle " + strings.Repeat("\xff\xfe x ", 50)},
		{"short", "needle"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for most := 1; most < 60; most++ {
				j := &judge{of: backwards}
				e := rerankedEngine(t, []segment.File{source("a.go", 0, c.text), source("b.go", 0, "needle hay")},
					search.Options{Reranking: search.Reranking{Reranker: j, Bytes: most}})
				e.ask(t, search.Query{})
				for _, d := range j.asked[0] {
					if len(d) > most || !utf8.ValidString(d) || strings.HasSuffix(d, "\xef") {
						t.Errorf("at most %d bytes: %q", most, d)
					}
				}
			}
		})
	}
}

// Whatever the scores, a reranking loses no hit, moves none behind the top, sorts by the
// score with the order before among equals, and leaves scores that give the same order.
func TestRerankIsAStableSort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "files")
		top := rapid.IntRange(1, 70).Draw(t, "top")
		scores := map[string]float64{}
		var input []segment.File
		before := []string{}
		for i := range n {
			name := fmt.Sprintf("%02d.go", i)
			scores[name] = float64(rapid.IntRange(-2, 2).Draw(t, "score"))
			input, before = append(input, source(name, 0, "needle hay")), append(before, name) // all score alike
		}
		want := slices.Clone(before)
		slices.SortStableFunc(want[:min(top, n)], func(a, b string) int { return int(scores[b] - scores[a]) })
		j := &judge{of: func(d string) float64 { return scores[strings.SplitN(d, "\n", 2)[0]] }}
		m := newMemory()
		e := search.New(m, nil, search.Options{Reranking: search.Reranking{Reranker: j, Top: top}})
		r, err := e.Search(t.Context(), store.View{Segments: []store.SegmentRef{m.put(t, input, 0)}}, search.Query{Text: "needle hay", Limit: n})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, h := range r.Hits {
			got = append(got, h.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
		slices.SortFunc(r.Hits, func(a, b search.Hit) int {
			if a.Score != b.Score {
				return -int(math.Copysign(1, a.Score-b.Score))
			}
			return strings.Compare(a.Path, b.Path)
		})
		for i, h := range r.Hits {
			if h.Path != want[i] {
				t.Fatalf("sorted by score and path, hit %d is %s, want %s", i, h.Path, want[i])
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
