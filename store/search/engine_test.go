package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

func TestBadQueryNamesItsField(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		query search.Query
		field string
	}{
		{"empty", search.Query{Text: " \n"}, "text"},
		{"too long", search.Query{Text: strings.Repeat("a", 2001)}, "text"},
		{"mode", search.Query{Text: "a", Mode: "fuzzy"}, "mode"},
		{"limit", search.Query{Text: "a", Limit: 101}, "limit"},
		{"negative limit", search.Query{Text: "a", Limit: -1}, "limit"},
		{"offset", search.Query{Text: "a", Offset: -1}, "offset"},
		{"kind", search.Query{Text: "a", Kinds: []string{"gadget"}}, "kinds"},
		{"language", search.Query{Text: "a", Languages: []string{"klingon"}}, "languages"},
		{"glob", search.Query{Text: "a", Paths: []string{"a[/b"}}, "paths"},
		{"empty glob", search.Query{Text: "a", Paths: []string{"!"}}, "paths"},
		{"braces", search.Query{Text: "a", Paths: []string{strings.Repeat("{a,b}", 10)}}, "paths"},
		{"expression", search.Query{Text: "a(", Mode: search.ModeRegex}, "text"},
		{"long expression", search.Query{Text: strings.Repeat("a", 1001), Mode: search.ModeRegex}, "text"},
		{"repeats", search.Query{Text: ".{900}x", Mode: search.ModeRegex}, "text"},
		{"case", search.Query{Text: "x", Mode: search.ModeExact, Case: "upper"}, "case"},
		{"case of a ranking", search.Query{Text: "x", Case: search.CaseSmart}, "case"},
		{"large program", search.Query{Text: strings.Repeat("(a{200}|b)", 40), Mode: search.ModeRegex}, "text"},
	}
	m := newMemory()
	view := store.View{Segments: []store.SegmentRef{m.put(t, []segment.File{source("a.go", 0, "a")}, 0)}}
	e := search.New(m, nil, search.Options{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := e.Search(t.Context(), view, c.query)
			var bad *search.BadQuery
			if !errors.As(err, &bad) || bad.Field != c.field {
				t.Errorf("error is %v, want a BadQuery of %s", err, c.field)
			}
		})
	}
}

func TestZeroHitsSayWhy(t *testing.T) {
	t.Parallel()
	files := []segment.File{source("a.go", 0, "alpha"), source("b.go", 0, "beta")}
	r := ask(t, files, search.Query{Text: "alpha gamma", Paths: []string{"b.go"}, Languages: []string{"go"}, Kinds: []string{"class"}})
	want := search.Considered{Files: 2, Chunks: 2, UnknownTerms: []string{"gamma"},
		Removed: map[string]int{"paths": 1, "languages": 0, "kinds": 2}}
	if diff := cmp.Diff(want, r.Considered); diff != "" || r.Total != 0 || !r.TotalExact {
		t.Errorf("total %d, considered (-want +got):\n%s", r.Total, diff)
	}
}

func TestEmbedderFailureLeavesText(t *testing.T) {
	t.Parallel()
	f := source("a.go", 0, "alpha")
	f.Vectors = map[merkle.Hash]store.Vector{f.Syntax.Chunks[0].TextHash: {Scale: 1, Data: []int8{1, 2}}}
	m := newMemory()
	view := store.View{Segments: []store.SegmentRef{m.put(t, []segment.File{f}, 2)}}
	for _, mode := range []search.Mode{search.ModeHybrid, search.ModeSemantic} {
		e := search.New(m, embedder{err: errors.New("down")}, search.Options{})
		r, err := e.Search(t.Context(), view, search.Query{Text: "alpha", Mode: mode})
		if err != nil || len(r.Hits) != 1 || r.VectorsUsed || len(r.Warnings) != 1 || r.Warnings[0].Code != "embedder_unavailable" {
			t.Errorf("%s: %+v, %v, want one hit and one warning", mode, r, err)
		}
	}
}

func TestSymbolMode(t *testing.T) {
	t.Parallel()
	files := []segment.File{
		source("pkg/server.go", 0, "def Close\n", "def CloseIdle\n"),
		source("pkg/client.go", 0, "def close\n"),
		source("pkg/server_test.go", store.FlagTest, "def Close\n"),
		source("x/other.go", 0, "def enclose\n", "def idle_close\n"),
	}
	cases := []struct {
		text string
		want []string
	}{
		{"Close", []string{"pkg/server.go:1-1", "pkg/client.go:1-1", "pkg/server.go:2-2", "pkg/server_test.go:1-1", "x/other.go:2-2"}},
		{"server.Close", []string{"pkg/server.go:1-1", "pkg/server.go:2-2", "pkg/client.go:1-1", "pkg/server_test.go:1-1", "x/other.go:2-2"}},
		{"close idle", []string{"pkg/server.go:2-2", "x/other.go:2-2"}},
		{"nothing", nil},
	}
	for _, c := range cases {
		got := paths(ask(t, files, search.Query{Text: c.text, Mode: search.ModeSymbol}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestHitsWithoutSyntaxSaySo(t *testing.T) {
	t.Parallel()
	m := newMemory()
	view := store.View{Segments: []store.SegmentRef{m.put(t, []segment.File{source("a.go", 0, "x\ndef Close\n")}, 0)}}
	clear(m.syntaxes)
	e := search.New(m, nil, search.Options{})
	for _, mode := range []search.Mode{search.ModeSymbol, search.ModeText, search.ModeRegex} {
		r, err := e.Search(t.Context(), view, search.Query{Text: "Close", Mode: mode})
		if err != nil || len(r.Hits) != 1 || len(r.Warnings) != 1 || r.Warnings[0].Code != "syntax_missing" {
			t.Fatalf("%s: %+v, %v, want one hit and one warning", mode, r, err)
		}
		want := &store.Definition{Name: "Close", Kind: "function", StartLine: 2, EndLine: 2, Parent: -1}
		if diff := cmp.Diff(want, r.Hits[0].Definition); diff != "" {
			t.Errorf("%s: definition (-want +got):\n%s", mode, diff)
		}
	}
}

func TestJoinedHitIsBounded(t *testing.T) {
	t.Parallel()
	chunk := strings.Repeat("needle\n", 30)
	got := paths(ask(t, []segment.File{source("a.go", 0, chunk, chunk, chunk, chunk)}, search.Query{Text: "needle"}))
	if diff := cmp.Diff([]string{"a.go:1-60"}, got); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}

func TestPathMode(t *testing.T) {
	t.Parallel()
	files := []segment.File{source("a/server.go", 0, "x"), source("b/httpServer.go", 0, "x"),
		source("server/main.go", 0, "x"), source("b/readme.md", 0)}
	cases := []struct {
		text string
		want []string
	}{
		{"server.go", []string{"a/server.go:1-1", "b/httpServer.go:1-1", "server/main.go:1-1"}},
		{"server", []string{"a/server.go:1-1", "b/httpServer.go:1-1", "server/main.go:1-1"}},
		{"main server", []string{"server/main.go:1-1"}},
		{"**/*.go", []string{"a/server.go:1-1", "b/httpServer.go:1-1", "server/main.go:1-1"}},
		{"b/readme.md", []string{"b/readme.md:0-0"}},
	}
	for _, c := range cases {
		got := paths(ask(t, files, search.Query{Text: c.text, Mode: search.ModePath}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestSearchStopsWithItsContext(t *testing.T) {
	t.Parallel()
	m := newMemory()
	view := store.View{Segments: []store.SegmentRef{m.put(t, []segment.File{source("a.go", 0, "x")}, 0)}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := search.New(m, nil, search.Options{})
	for _, mode := range search.Modes() {
		if _, err := e.Search(ctx, view, search.Query{Text: "x", Mode: mode}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error is %v, want canceled", mode, err)
		}
	}
}

func TestSegmentsAreSharedAndEvicted(t *testing.T) {
	t.Parallel()
	m := newMemory()
	var views []store.View
	for i := range 6 {
		ref := m.put(t, []segment.File{source(fmt.Sprintf("f%d.go", i), 0, "needle")}, 0)
		views = append(views, store.View{Segments: []store.SegmentRef{ref}})
	}
	e := search.New(m, nil, search.Options{IdleSegments: 2})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				r, err := e.Search(t.Context(), views[(i+j)%len(views)], search.Query{Text: "needle"})
				if err != nil || len(r.Hits) != 1 {
					t.Errorf("%d hits, %v", len(r.Hits), err)
				}
			}
		})
	}
	wg.Wait()
	if m.open != 2 {
		t.Errorf("%d segments stay open, want 2", m.open)
	}
	if err := errors.Join(e.Close(), e.Close()); err != nil || m.open != 0 {
		t.Errorf("close: %v, %d segments open", err, m.open)
	}
	if _, err := e.Search(t.Context(), views[0], search.Query{Text: "x"}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after close: %v, want ErrClosed", err)
	}
}

func TestADamagedSegmentIsAnError(t *testing.T) {
	t.Parallel()
	m := newMemory()
	ref := m.put(t, []segment.File{source("a.go", 0, "x")}, 0)
	m.segments[ref.ID] = m.segments[ref.ID][:100]
	e := search.New(m, nil, search.Options{})
	_, err := e.Search(t.Context(), store.View{Segments: []store.SegmentRef{ref}}, search.Query{Text: "x"})
	if !errors.Is(err, segment.ErrCorrupt) || m.open != 0 {
		t.Errorf("error is %v with %d segments open, want ErrCorrupt and none", err, m.open)
	}
}

// A best hit with less than half of the words, and no vector near, is said to be weak.
func TestWeakMatchIsSaid(t *testing.T) {
	t.Parallel()
	files := []segment.File{source("a.go", 0, "alpha beta gamma")}
	for _, c := range []struct {
		text string
		weak bool
	}{
		{"alpha beta", false},
		{"alpha unheard", false},
		{"alpha unheard unseen", true},
		{"alphas betas", false}, // by their forms
	} {
		r := ask(t, files, search.Query{Text: c.text})
		weak := slices.ContainsFunc(r.Warnings, func(w search.Warning) bool { return w.Code == search.WarnWeak })
		if weak != c.weak || len(r.Hits) != 1 {
			t.Errorf("%q: weak is %v with %d hits, want %v with one", c.text, weak, len(r.Hits), c.weak)
		}
	}
}

// A hit of joined chunks carries the definition whose name the query gives, wherever it
// stands in them, and not the first or the largest.
func TestHitNamesTheDefinitionThatTheQueryNames(t *testing.T) {
	t.Parallel()
	files := []segment.File{source("a.go", 0, "def Larger\nand more\nand more\ndef CloseConn\nx CloseConn\n", "def Other\nCloseConn\n")}
	for _, mode := range []search.Mode{search.ModeText, search.ModeHybrid, search.ModeSymbol} {
		for _, text := range []string{"CloseConn", "closeconn", "CloseConn()", "where is CloseConn"} {
			if mode == search.ModeSymbol && strings.Contains(text, " ") {
				continue
			}
			r := ask(t, files, search.Query{Text: text, Mode: mode})
			if len(r.Hits) == 0 || r.Hits[0].Definition == nil || r.Hits[0].Definition.Name != "CloseConn" {
				t.Errorf("%s %q: %+v", mode, text, r.Hits)
			}
		}
	}
}

func TestBestLineHoldsTheMostWords(t *testing.T) {
	t.Parallel()
	text := []byte("retry\nretry the request\nrequest retry later\n")
	for query, want := range map[string]int{"retry request": 1, "later": 2, "retry": 0, "absent": -1} {
		if got := search.BestLine(text, query); got != want {
			t.Errorf("%q: line %d, want %d", query, got, want)
		}
	}
}
