package tool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/mcp/tool"
)

// TestHitIsATarget: every id that a search gives is read back as the lines of its hit.
func TestHitIsATarget(t *testing.T) {
	t.Parallel()
	w := library(t)
	e, _ := use(t, w, tool.ToolSearch, arguments{"query": "func entries fence", "limit": 20, "max_response_tokens": 25_000})
	if len(e.Results) < 10 {
		t.Fatalf("%d hits", len(e.Results))
	}
	for _, hit := range e.Results {
		read, _ := use(t, w, tool.ToolRead, arguments{"targets": []string{hit.ID}})
		if read.Error != nil {
			t.Fatal(read.Error)
		}
		got := read.Results[0]
		want := []any{hit.ID, hit.FilePath, hit.StartLine, hit.EndLine, hit.Content, true}
		if diff := cmp.Diff(want, []any{got.ID, got.FilePath, got.StartLine, got.EndLine, got.Content, got.Verified}); diff != "" {
			t.Errorf("%s (-hit +read):\n%s", hit.ID, diff)
		}
	}
	first := e.Results[0]
	w.Write(root, first.FilePath, "another text\n")
	read, _ := use(t, w, tool.ToolRead, arguments{"targets": []string{first.ID}})
	if read.Error != nil || read.Results[0].Verified || !warned(read, "source_changed") {
		t.Errorf("after a change: error %v, %+v", read.Error, read.Results)
	}
}

func TestViews(t *testing.T) {
	t.Parallel()
	w := library(t)
	cases := []struct {
		name, target, view string
		at, first          string
	}{
		{"a fragment is the whole definition", "log/queue.go:10-11", "fragment", "log/queue.go:4-29", "func Queue0(entries []Entry, limit int) error {"},
		{"a fragment across definitions has both", "log/queue.go:20-40", "fragment", "log/queue.go:4-57", "func Queue0(entries []Entry, limit int) error {"},
		{"a fragment outside of definitions is its lines", "log/queue.go:1-2", "fragment", "log/queue.go:1-2", "package queue"},
		{"a skeleton has the definitions", "log/queue.go", "skeleton", "log/queue.go:1-114", "4-29  func Queue0(entries []Entry, limit int) error"},
		{"a skeleton of lines has those in them", "log/queue.go:30-60", "skeleton", "log/queue.go:30-60", "32-57  func Queue1(entries []Entry, limit int) error"},
		{"full is the lines", "log/queue.go:10-11", "full", "log/queue.go:10-11", "\tcall step5 // of entry 0, as the log of queue has it"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, _ := use(t, w, tool.ToolRead, arguments{"targets": []string{test.target}, "view": test.view})
			if e.Error != nil {
				t.Fatal(e.Error)
			}
			h := e.Results[0]
			first, _, _ := strings.Cut(h.Content, "\n")
			got := []string{fmt.Sprintf("%s:%d-%d", h.FilePath, h.StartLine, h.EndLine), first}
			if diff := cmp.Diff([]string{test.at, test.first}, got); diff != "" {
				t.Errorf("place, first line (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnparsedShowsItsLines: a view that needs the syntax says that there is none.
func TestUnparsedShowsItsLines(t *testing.T) {
	t.Parallel()
	w := library(t)
	w.Unparsed = true
	e, _ := use(t, w, tool.ToolRead, arguments{"targets": []string{"log/queue.go:1-1"}, "view": "skeleton"})
	if e.Error != nil || e.Results[0].Content != "package queue\n" || !warned(e, "not_parsed") {
		t.Errorf("error %v, %+v", e.Error, e.Results)
	}
}

// TestLongFilesAreReadToTheEnd follows the next steps of a file that no budget holds: the
// parts join to the file, whatever the budget.
func TestLongFilesAreReadToTheEnd(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 1234 {
		fmt.Fprintf(&text, "line %d of a long file\n", i+1)
	}
	w := library(t)
	w.Write(root, "long.txt", text.String())
	for _, budget := range []int{600, 25_000} {
		for _, format := range tool.Formats() {
			var joined strings.Builder
			next := arguments{"targets": []string{"long.txt"}}
			for range 100 {
				e, sent := use(t, w, tool.ToolRead, next.with(arguments{"max_response_tokens": budget, "format": string(format)}))
				if e.Error != nil {
					t.Fatal(e.Error)
				}
				if len(sent) > 4*budget {
					t.Fatalf("%d bytes for a budget of %d tokens", len(sent), budget)
				}
				joined.WriteString(e.Results[0].Content)
				if len(e.NextSteps) == 0 {
					break
				}
				next = e.NextSteps[0].Arguments
			}
			if joined.String() != text.String() {
				t.Errorf("budget %d, %s: the parts have %d bytes, the file %d", budget, format, joined.Len(), text.Len())
			}
		}
	}
}

// TestTargetsThatDoNotFitAreNamed: what is left out of an answer is the next call.
func TestTargetsThatDoNotFitAreNamed(t *testing.T) {
	t.Parallel()
	w := library(t)
	e, _ := use(t, w, tool.ToolRead, arguments{"targets": []string{"Queue0", "Queue1", "Queue2"}, "max_response_tokens": 900})
	if e.Error != nil || len(e.Results) == 0 || len(e.Results) == 3 || len(e.NextSteps) != 1 {
		t.Fatalf("error %v, %d results, steps %v", e.Error, len(e.Results), e.NextSteps)
	}
	rest, _ := use(t, w, tool.ToolRead, e.NextSteps[0].Arguments)
	if len(rest.Results) != 3-len(e.Results) {
		t.Errorf("%d results and then %d", len(e.Results), len(rest.Results))
	}
}
