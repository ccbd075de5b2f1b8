package search_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

// pages follows the places of a regular expression until its answers end. It fails when a
// page neither gives a hit nor gets further.
func pages(t *testing.T, e *search.Engine, view store.View, q search.Query) (all []search.Result) {
	t.Helper()
	for {
		r, err := e.Search(t.Context(), view, q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
		next := r.Stopped
		if n := len(r.Hits); next == nil && n > 0 && (r.Total > r.Places[n-1].Found || r.NotSearched != nil && r.NotSearched.Ahead) {
			next = &r.Places[n-1]
		}
		if next == nil {
			return all
		}
		if *next == q.From {
			t.Fatalf("page %d does not get beyond %+v", len(all), q.From)
		}
		q.From = *next
	}
}

func hitLines(results []search.Result) (out []string) {
	for _, r := range results {
		out = append(out, paths(r)...)
	}
	return out
}

// fixtureFiles reads the sources of this folder and the one below as indexed files.
func fixtureFiles(t *testing.T) (files []segment.File, names []string) {
	t.Helper()
	for _, pattern := range []string{"*.go", "reference/*.go", "../lexical/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%d files of %s (%v)", len(found), pattern, err)
		}
		names = append(names, found...)
	}
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var chunks []string
		for part := range slices.Chunk(strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n"), 7+i%20) {
			chunks = append(chunks, strings.Join(part, ""))
		}
		files = append(files, source(name, 0, chunks...))
	}
	return files, names
}

// Mode regex gives every line that grep gives, whatever the size of its pages.
func TestRegexGivesEveryMatchingLine(t *testing.T) {
	t.Parallel()
	grep, err := exec.LookPath("grep")
	if err != nil {
		t.Skip("no grep to compare with")
	}
	files, names := fixtureFiles(t)
	m := newMemory()
	view := store.View{Segments: []store.SegmentRef{m.put(t, files[:len(files)/2], 0), m.put(t, files[len(files)/2:], 0)}}
	e := search.New(m, nil, search.Options{RegexDeadline: time.Hour})
	for _, pattern := range []string{`append\(`, `^func `, `return .*err$`, `[A-Z][a-z]+Deadline`, `fmt\.(Errorf|Sprintf)`, `^$`, `t`, `"[^"]*%d[^"]*"`, `[[:space:]]{4}`, `append|Deadline|errors`, `(re|de)turn`, `(x|yz)+`} {
		out, err := exec.CommandContext(t.Context(), grep, append([]string{"-nHE", "--", pattern}, names...)...).Output() //nolint:gosec // fixed arguments
		if err != nil {
			t.Fatalf("grep %s: %v", pattern, err)
		}
		var want []string
		for _, line := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
			part := strings.SplitN(line, ":", 3)
			want = append(want, part[0]+":"+part[1]+"-"+part[1])
		}
		for _, limit := range []int{min(100, max(3, len(want)/12)), 100} {
			all := pages(t, e, view, search.Query{Text: pattern, Mode: search.ModeRegex, Limit: limit})
			got := hitLines(all)
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d a page (-grep +search):\n%s", pattern, limit, diff)
			}
			for i, r := range all {
				if r.Total != len(want) || !r.TotalExact || r.NotSearched != nil {
					t.Errorf("%s: page %d has a total of %d, exact %v, not searched %+v; want %d, exact", pattern, i, r.Total, r.TotalExact, r.NotSearched, len(want))
				}
			}
		}
	}
}

// A scan that runs out of time says how many files it did not look at, and its pages go on
// there until all are: every line once.
func TestRegexGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	m := newMemory()
	var files []segment.File
	for i := range 40 {
		files = append(files, source(fmt.Sprintf("f%02d.go", i), 0, "needle\nhay\nneedle\n"))
	}
	view := store.View{Segments: []store.SegmentRef{m.put(t, files, 0)}}
	for name, options := range map[string]search.Options{
		"clock": {RegexDeadline: 5 * time.Second},
		"steps": {RegexSteps: 1000},
		"least": {RegexSteps: 600, RegexDeadline: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(0, 0)
			options.Now = func() time.Time {
				now = now.Add(time.Second) // each look at the clock takes a second
				return now
			}
			for _, limit := range []int{1, 4, 100} {
				all := pages(t, search.New(m, nil, options), view, search.Query{Text: "needle", Mode: search.ModeRegex, Limit: limit})
				got := hitLines(all)
				if len(got) != 80 || len(slices.Compact(slices.Clone(got))) != 80 || !slices.IsSorted(got) {
					t.Fatalf("%d a page: %d lines %q, want each of 80 once", limit, len(got), got)
				}
				if first := all[0]; first.TotalExact || first.NotSearched == nil || !first.NotSearched.Ahead || first.NotSearched.Files == 0 {
					t.Errorf("the first page is exact %v, not searched %+v: want the files that are left", first.TotalExact, first.NotSearched)
				}
				if last := all[len(all)-1]; last.Total != 80 || !last.TotalExact {
					t.Errorf("the last page has a total of %d, exact %v, want 80", last.Total, last.TotalExact)
				}
			}
		})
	}
}

// One line may not cost more than its share: it is named, counted on every page after it,
// and does not keep the lines behind it from being found.
func TestRegexNamesTheLineThatCostsTooMuch(t *testing.T) {
	t.Parallel()
	files := []segment.File{source("a.go", 0, "aab\n", strings.Repeat("a", 5000)+"\n", "aaab\n"), source("b.go", 0, "ab\n")}
	m := newMemory()
	view := store.View{Segments: []store.SegmentRef{m.put(t, files, 0)}}
	e := search.New(m, nil, search.Options{RegexSteps: 8 * 5000 * 4, RegexDeadline: time.Hour})
	all := pages(t, e, view, search.Query{Text: "(a?){20}b?$", Mode: search.ModeRegex, Limit: 1})
	if diff := cmp.Diff([]string{"a.go:1-1", "a.go:3-3", "b.go:1-1"}, hitLines(all)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for i, r := range all {
		if r.TotalExact || r.NotSearched == nil || r.NotSearched.Lines != 1 || r.Total != 3 {
			t.Errorf("page %d: total %d, exact %v, not searched %+v: want 3 and one line", i, r.Total, r.TotalExact, r.NotSearched)
		}
	}
	named := slices.ContainsFunc(all[0].Warnings, func(w search.Warning) bool {
		return w.Code == "long_lines" && strings.Contains(w.Message, "a.go:2")
	})
	if !named {
		t.Errorf("warnings %+v do not name a.go:2", all[0].Warnings)
	}
}

// A long line is matched to its end.
func TestRegexLooksAtWholeLines(t *testing.T) {
	t.Parallel()
	files := []segment.File{source("a.go", 0, strings.Repeat("x", 900_000)+" needle\n")}
	for _, pattern := range []string{"needle$", `\bn[e]+dle`, `^x+ needle$`, `(?i)NEEDLE`} {
		r := ask(t, files, search.Query{Text: pattern, Mode: search.ModeRegex})
		if len(r.Hits) != 1 || !r.TotalExact {
			t.Errorf("%s: %d hits, exact %v, warnings %+v", pattern, len(r.Hits), r.TotalExact, r.Warnings)
		}
	}
}

// canceling ends a context when a content has been read.
type canceling struct {
	*memory
	cancel func()
}

func (c *canceling) Content(ctx context.Context, h merkle.Hash) ([]byte, error) {
	defer c.cancel()
	return c.memory.Content(ctx, h)
}

// The context is looked at inside of a line, so that no expression outlasts its caller.
func TestRegexLooksAtTheContextInsideALine(t *testing.T) {
	t.Parallel()
	m := newMemory()
	line := strings.Repeat("ab", 30_000)
	view := store.View{Segments: []store.SegmentRef{m.put(t, []segment.File{source("a.go", 0, line+"\n")}, 0)}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := search.New(&canceling{m, cancel}, nil, search.Options{RegexDeadline: time.Hour})
	_, err := e.Search(ctx, view, search.Query{Text: "((a?b?){7}){200}c?(x|$)", Mode: search.ModeRegex})
	var bad *search.BadQuery
	if errors.As(err, &bad) {
		_, err = e.Search(ctx, view, search.Query{Text: "(a?b?c?){200}(x|$)", Mode: search.ModeRegex})
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want canceled", err)
	}
}

// Contents that the store does not give are named, on the page that met them and counted
// on those after it.
func TestRegexNamesWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	files := []segment.File{source("a.go", 0, "needle\n"), source("b.go", 0, "x\nneedle\n"), source("c.go", 0, "y\nneedle\n")}
	m := newMemory()
	view := store.View{Segments: []store.SegmentRef{m.put(t, files, 0)}}
	delete(m.contents, files[1].Entry.Content)
	all := pages(t, search.New(m, nil, search.Options{RegexDeadline: time.Hour}), view, search.Query{Text: "needle", Mode: search.ModeRegex, Limit: 1})
	for i, r := range all {
		if r.TotalExact || r.UnreadCount != 1 || r.Total != 2 || r.NotSearched == nil || r.NotSearched.Files != 1 {
			t.Errorf("page %d: total %d, exact %v, %d unread, not searched %+v", i, r.Total, r.TotalExact, r.UnreadCount, r.NotSearched)
		}
	}
	if diff := cmp.Diff([]string{"b.go"}, all[0].Unread); diff != "" || len(all) != 2 {
		t.Errorf("%d pages, unread (-want +got):\n%s", len(all), diff)
	}
}

// A matching line carries the innermost definition around it, not another of its chunk.
func TestRegexHitNamesTheDefinitionAroundIt(t *testing.T) {
	t.Parallel()
	text := "type Big struct {\n\tfield int\n}\n\nfunc (b Big) Small() {\n\tneedle()\n}\n\nneedle\n"
	f := source("a.go", 0, text)
	at := func(line string) uint32 { return uint32(strings.Index(text, line)) }
	f.Syntax.Definitions = []store.Definition{
		{Name: "Big", Kind: "struct", Start: 0, End: at("\nfunc"), StartLine: 1, EndLine: 3, Parent: -1},
		{Name: "field", Kind: "field", Start: at("field"), End: at("field") + 9, StartLine: 2, EndLine: 2, Parent: 0},
		{Name: "Small", Kind: "method", Start: at("func"), End: at("\nneedle\n"), StartLine: 5, EndLine: 7, Parent: -1},
	}
	r := ask(t, []segment.File{f}, search.Query{Text: regexp.QuoteMeta("needle") + "|field", Mode: search.ModeRegex})
	var got []string
	for _, h := range r.Hits {
		name := ""
		if h.Definition != nil {
			name = h.Definition.Name
		}
		got = append(got, fmt.Sprintf("%d %s", h.StartLine, name))
	}
	if diff := cmp.Diff([]string{"2 field", "6 Small", "9 "}, got); diff != "" {
		t.Errorf("lines and definitions (-want +got):\n%s", diff)
	}
}
