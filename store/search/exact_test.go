package search_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

// reading counts the contents that are read.
type reading struct {
	*memory
	contents atomic.Int64
}

func (r *reading) Content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	r.contents.Add(1)
	return r.memory.Content(ctx, h)
}

// Mode exact gives every line that grep -F gives, by each rule of case.
func TestExactGivesEveryLineThatGrepFinds(t *testing.T) {
	t.Parallel()
	grep, err := exec.LookPath("grep")
	if err != nil {
		t.Skip("no grep to compare with")
	}
	files, names := fixtureFiles(t)
	m := newMemory()
	view := store.View{Segments: []store.SegmentRef{m.put(t, files[:len(files)/2], 0), m.put(t, files[len(files)/2:], 0)}}
	e := search.New(m, nil, search.Options{})
	for _, c := range []struct {
		text string
		rule search.Case
		flag string
	}{
		{"errors.Is(", "", "-nHFi"}, {"append(", search.CaseSensitive, "-nHF"}, {"TODO", "", "-nHF"}, {"Deadline", "", "-nHF"},
		{"deadline", "", "-nHFi"}, {"deadline", search.CaseSmart, "-nHFi"}, {"DEADLINE", search.CaseInsensitive, "-nHFi"},
		{"deadline", search.CaseSensitive, "-nHF"}, {"\t\t", "", "-nHF"}, {"e", search.CaseSensitive, "-nHF"}, {"*[", "", "-nHF"},
		{"ſ", search.CaseSensitive, "-nHF"}, {" ", "", "-nHF"}, {"K", search.CaseSensitive, "-nHF"},
	} {
		out, err := exec.CommandContext(t.Context(), grep, append([]string{c.flag, "-e", c.text, "--"}, names...)...).Output() //nolint:gosec // fixed arguments
		if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {                                    //nolint:errorlint // as it is returned
			t.Fatalf("grep %s: %v", c.text, err)
		}
		var want []string
		for line := range strings.Lines(string(out)) {
			part := strings.SplitN(line, ":", 3)
			want = append(want, part[0]+":"+part[1]+"-"+part[1])
		}
		all := pages(t, e, view, search.Query{Text: c.text, Mode: search.ModeExact, Case: c.rule, Limit: 100})
		got := hitLines(all)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got, equateEmpty); diff != "" {
			t.Errorf("%q, case %q (-grep +search):\n%s", c.text, c.rule, diff)
		}
		if r := all[0]; r.Total != len(want) || !r.TotalExact {
			t.Errorf("%q: total %d, exact %v, want %d", c.text, r.Total, r.TotalExact, len(want))
		}
	}
}

var equateEmpty = cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })

// Of the contents only those are read that may match, and a total is exact all the same.
func TestRareTextReadsFewContents(t *testing.T) {
	t.Parallel()
	m := &reading{memory: newMemory()}
	var files []segment.File
	for i := range 400 {
		files = append(files, source(fmt.Sprintf("f%03d.go", i), 0, fmt.Sprintf("func name%d() { return }\n// plain words\n", i)))
	}
	files[123] = source("f123.go", 0, "// the Needle\n", "and the needle again\n")
	view := store.View{Segments: []store.SegmentRef{m.put(t, files, 0)}}
	e := search.New(m, nil, search.Options{})
	for _, q := range []search.Query{
		{Text: "needle", Mode: search.ModeExact}, {Text: "(?i)NEED(le|els)", Mode: search.ModeRegex},
		{Text: "n[eo]{2}dle", Mode: search.ModeRegex, Case: search.CaseInsensitive},
	} {
		m.contents.Store(0)
		r, err := e.Search(t.Context(), view, q)
		if err != nil {
			t.Fatal(err)
		}
		if r.Total != 2 || !r.TotalExact || len(r.Hits) != 2 {
			t.Errorf("%s %q: total %d, exact %v, %d hits; want 2", q.Mode, q.Text, r.Total, r.TotalExact, len(r.Hits))
		}
		if n := m.contents.Load(); n > 5 {
			t.Errorf("%s %q read %d of 400 contents", q.Mode, q.Text, n)
		}
	}
}

// A pattern that asks for a line feed matches over several lines, each place once, whatever
// the size of the pages.
func TestMatchesOverSeveralLines(t *testing.T) {
	t.Parallel()
	m := newMemory()
	files := []segment.File{
		source("a.go", 0, "if err != nil {\n\treturn err\n}\nif err != nil {\n\treturn nil\n}\nif err != nil {\n\treturn err\n}\n"),
		source("b.go", 0, "// begin\n// one\n// end\nbegin end\n"),
	}
	view := store.View{Segments: []store.SegmentRef{m.put(t, files, 0)}}
	e := search.New(m, nil, search.Options{})
	for _, c := range []struct {
		q    search.Query
		want []string
	}{
		{search.Query{Text: `!= nil \{\n\s+return err$`, Mode: search.ModeRegex}, []string{"a.go:1-2", "a.go:7-8"}},
		{search.Query{Text: "err\n}", Mode: search.ModeExact}, []string{"a.go:2-3", "a.go:8-9"}},
		{search.Query{Text: `(?s)begin.*?end`, Mode: search.ModeRegex}, []string{"b.go:1-3", "b.go:4-4"}},
		{search.Query{Text: `^}\n^if`, Mode: search.ModeRegex}, []string{"a.go:3-4", "a.go:6-7"}},
		{search.Query{Text: `[^x]begin`, Mode: search.ModeRegex}, []string{"b.go:1-1"}},
		{search.Query{Text: `begin[\s\S]*?end`, Mode: search.ModeRegex}, []string{"b.go:1-3", "b.go:4-4"}},
		{search.Query{Text: `(?m)^if.*\n.*\n}$`, Mode: search.ModeRegex}, []string{"a.go:1-3", "a.go:4-6", "a.go:7-9"}},
	} {
		for _, limit := range []int{1, 10} {
			c.q.Limit = limit
			got := hitLines(pages(t, e, view, c.q))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q, %d a page (-want +got):\n%s", c.q.Text, limit, diff)
			}
		}
	}
}

// A cursor goes on at its line although the segments were merged meanwhile, and the files
// that cannot match are known by now.
func TestPlacesOutliveAMerge(t *testing.T) {
	t.Parallel()
	m := newMemory()
	var files []segment.File
	for i := range 40 {
		text := "hay\n"
		if i%10 == 0 {
			text = "needle\nhay\nneedle\n"
		}
		files = append(files, source(fmt.Sprintf("f%02d.go", i), 0, text))
	}
	var small store.View
	for i := 0; i < len(files); i += 10 {
		small.Segments = append(small.Segments, m.putPlain(t, files[i:i+10], 0))
	}
	views := []store.View{small, {Segments: []store.SegmentRef{m.put(t, files, 0)}}}
	e := search.New(m, nil, search.Options{})
	want := hitLines(pages(t, e, views[1], search.Query{Text: "needle", Mode: search.ModeExact, Limit: 100}))
	for limit := 1; limit <= 3; limit++ {
		for first := range views {
			q := search.Query{Text: "needle", Mode: search.ModeExact, Limit: limit}
			var got []string
			for page := first; ; page++ {
				r, err := e.Search(t.Context(), views[page%2], q)
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, paths(r)...); len(got) > 2*len(want) {
					t.Fatalf("%d a page, view %d first: the pages do not end: %v", limit, first, got)
				}
				n := len(r.Hits)
				if n == 0 || r.Total == r.Places[n-1].Found {
					break
				}
				q.From = r.Places[n-1]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d a page, view %d first (-want +got):\n%s", limit, first, diff)
			}
		}
	}
}

// An expression that looks at the rest of a content again and again is stopped.
func TestMatchesOverSeveralLinesEndWithTheBudget(t *testing.T) {
	t.Parallel()
	m := newMemory()
	view := store.View{Segments: []store.SegmentRef{m.put(t, []segment.File{source("a.c", 0, strings.Repeat("x {\n", 100_000))}, 0)}}
	e := search.New(m, nil, search.Options{RegexSteps: 1 << 26})
	r, err := e.Search(t.Context(), view, search.Query{Text: `(?s)x.*y|x`, Mode: search.ModeRegex})
	if err != nil {
		t.Fatal(err)
	}
	if r.TotalExact || r.NotSearched == nil {
		t.Errorf("total %d, exact %v, not searched %+v; want a lower bound", r.Total, r.TotalExact, r.NotSearched)
	}
}

// A carriage return is no part of a line unless the expression speaks of it.
func TestCarriageReturns(t *testing.T) {
	t.Parallel()
	files := []segment.File{source("a.go", 0, "foo\r\nbar\n")}
	for _, c := range []struct {
		q    search.Query
		mark search.Mark
	}{
		{search.Query{Text: "foo\r", Mode: search.ModeExact}, search.Mark{Start: 0, End: 4}},
		{search.Query{Text: `foo\r`, Mode: search.ModeRegex}, search.Mark{Start: 0, End: 4}},
		{search.Query{Text: `foo$`, Mode: search.ModeRegex}, search.Mark{Start: 0, End: 3}},
		{search.Query{Text: "bar\n", Mode: search.ModeExact}, search.Mark{Start: 0, End: 4}},
	} {
		r := ask(t, files, c.q)
		if len(r.Hits) != 1 || !slices.Equal(r.Hits[0].Marks, []search.Mark{c.mark}) {
			t.Errorf("%s %q: %+v, want the mark %v", c.q.Mode, c.q.Text, r.Hits, c.mark)
		}
	}
}

// The places of a line that match are marked, in bytes.
func TestMarksOfALine(t *testing.T) {
	t.Parallel()
	files := []segment.File{source("a.go", 0, "Überall über\n")}
	for _, c := range []struct {
		q    search.Query
		want []search.Mark
	}{
		{search.Query{Text: "über", Mode: search.ModeExact}, []search.Mark{{Start: 0, End: 5}, {Start: 9, End: 14}}},
		{search.Query{Text: "Über", Mode: search.ModeExact}, []search.Mark{{Start: 0, End: 5}}},
		{search.Query{Text: `\w+$`, Mode: search.ModeRegex}, []search.Mark{{Start: 11, End: 14}}},
	} {
		r := ask(t, files, c.q)
		if len(r.Hits) != 1 || !slices.Equal(r.Hits[0].Marks, c.want) {
			t.Errorf("%s %q: %+v, want marks %v", c.q.Mode, c.q.Text, r.Hits, c.want)
		}
	}
}
