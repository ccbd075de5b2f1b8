package tool_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/mcp/tool"
)

func warned(e *tool.Envelope, code string) bool {
	for _, w := range e.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

func TestSessionIsNeverCreatedUnasked(t *testing.T) {
	t.Parallel()
	w := library(t)
	use(t, w, tool.ToolSearch, arguments{"query": "Queue"})
	use(t, w, tool.ToolRead, arguments{"targets": []string{"log/queue.go:1-3"}})
	if kept := w.SessionIDs(); len(kept) != 0 {
		t.Errorf("sessions %v were kept", kept)
	}
	e, _ := use(t, w, tool.ToolSearch, arguments{"query": "Queue", "session_id": "mine"})
	if kept := w.SessionIDs(); !slices.Equal(kept, []string{"mine"}) || e.SessionID != "mine" {
		t.Errorf("sessions %v, the answer names %q", kept, e.SessionID)
	}
}

// TestSeenItemsCollapse: the second time an item is one line; after its file changed it is
// shown again; a summary neither counts as shown nor is collapsed further.
func TestSeenItemsCollapse(t *testing.T) {
	t.Parallel()
	w := library(t)
	asked := arguments{"query": "Queue1", "mode": "symbol", "session_id": "s"}
	seen := func(more arguments) (bool, string) {
		e, text := use(t, w, tool.ToolSearch, asked.with(more))
		if len(e.Results) != 1 {
			t.Fatalf("%d results, error %v", len(e.Results), e.Error)
		}
		if e.Results[0].Seen != (e.Results[0].Content == "") && more["verbosity"] == nil {
			t.Errorf("seen %v with content %q", e.Results[0].Seen, e.Results[0].Content)
		}
		return e.Results[0].Seen, text
	}
	if was, _ := seen(arguments{"verbosity": "summary"}); was {
		t.Error("a first summary says seen")
	}
	if was, _ := seen(nil); was {
		t.Error("after a summary alone the text was not shown before")
	}
	was, text := seen(nil)
	if !was || !strings.Contains(text, "shown before") || strings.Contains(text, "call step") {
		t.Errorf("seen %v, text:\n%s", was, text)
	}
	w.Write(root, "log/queue.go", "func Queue1() {\n\tcall other\n}\n")
	if was, _ := seen(nil); was {
		t.Error("a changed item says seen")
	}
	if was, _ := seen(arguments{"session_id": "another"}); was {
		t.Error("another session says seen")
	}
}

func TestRepeatedQueryWarns(t *testing.T) {
	t.Parallel()
	w := library(t)
	asked := arguments{"query": "Queue", "session_id": "s"}
	ask := func(a arguments) bool {
		e, _ := use(t, w, tool.ToolSearch, a)
		return warned(e, "repeated_query")
	}
	if ask(asked) || ask(asked.with(arguments{"query": "Flush"})) {
		t.Error("a first query is called repeated")
	}
	if !ask(asked) {
		t.Error("a repeated query is not called so")
	}
	if ask(arguments{"query": "Queue"}) {
		t.Error("without a session a query is called repeated")
	}
	w.Write(root, "log/more.go", "func Queue9() {}\n")
	if ask(asked) {
		t.Error("a query of another snapshot is called repeated")
	}
}

// TestSessionChangesNoIDs: whatever was done in a session before, an answer has the same
// items with it and without, at any budget, and the same cursor.
func TestSessionChangesNoIDs(t *testing.T) {
	t.Parallel()
	w := library(t)
	rapid.Check(t, func(r *rapid.T) {
		session := rapid.StringMatching(`[a-z]{12}`).Draw(r, "session")
		for range rapid.IntRange(0, 4).Draw(r, "before") {
			if rapid.Bool().Draw(r, "reads") {
				target := rapid.SampledFrom([]string{"log/queue.go", "log/flush.go:1-9", "Batch2"}).Draw(r, "target")
				use(t, w, tool.ToolRead, arguments{"targets": []string{target}, "session_id": session})
				continue
			}
			query := rapid.SampledFrom([]string{"Queue", "Flush", "Batch"}).Draw(r, "earlier")
			use(t, w, tool.ToolSearch, arguments{"query": query, "session_id": session, "mode": "symbol"})
		}
		asked := arguments{
			"query": rapid.SampledFrom([]string{"Queue", "func", "entries", "Flush"}).Draw(r, "query"),
			"mode":  rapid.SampledFrom([]string{"hybrid", "symbol"}).Draw(r, "mode"),
			"limit": rapid.IntRange(1, 20).Draw(r, "limit"), "explain": true,
			"max_response_tokens": rapid.IntRange(1200, 8000).Draw(r, "budget"),
		}
		without, _ := use(t, w, tool.ToolSearch, asked)
		with, text := use(t, w, tool.ToolSearch, asked.with(arguments{"session_id": session}))
		if without.Error != nil || with.Error != nil {
			r.Skip("the budget is too small")
		}
		n := min(len(without.Results), len(with.Results)) // the remarks of a session take room
		if len(with.Results) > len(without.Results) {
			r.Fatalf("%d items with a session, %d without", len(with.Results), len(without.Results))
		}
		want, got := ids(without)[:n], ids(with)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("items (-without +with a session):\n%s", diff)
		}
		if with.ApproxTokens > asked["max_response_tokens"].(int) || len(text) > 4*asked["max_response_tokens"].(int) {
			r.Fatalf("%d tokens for a budget of %v", with.ApproxTokens, asked["max_response_tokens"])
		}
	})
}

// TestRecentWorkLiftsALittle: after a file was read, hits in it score at most a twentieth
// more, and explain says so.
func TestRecentWorkLiftsALittle(t *testing.T) {
	t.Parallel()
	w := library(t)
	use(t, w, tool.ToolRead, arguments{"targets": []string{"log/flush.go:1-2"}, "session_id": "s"})
	asked := arguments{"query": "entries limit", "limit": 20, "explain": true, "verbosity": "standard", "max_response_tokens": 20_000}
	plain, _ := use(t, w, tool.ToolSearch, asked)
	lifted, _ := use(t, w, tool.ToolSearch, asked.with(arguments{"session_id": "s"}))
	was := map[string]float64{}
	for _, h := range plain.Results {
		was[h.ID] = h.SimilarityScore
	}
	if lifted.Results[0].FilePath != "log/flush.go" {
		t.Errorf("%s is first", lifted.Results[0].FilePath)
	}
	for _, h := range lifted.Results {
		boost := h.SimilarityScore - was[h.ID]
		if boost < 0 || boost > 0.05*was[h.ID]+1e-9 {
			t.Errorf("%s is lifted by %v from %v", h.ID, boost, was[h.ID])
		}
		if told := h.Explain.Boosts["session"]; told-boost > 1e-9 || boost-told > 1e-9 {
			t.Errorf("%s is lifted by %v and explained by %v", h.ID, boost, told)
		}
	}
}

// TestSessionOrdersEachVerbosityAlike: what recent work lifts stands in the same order at
// each verbosity.
func TestSessionOrdersEachVerbosityAlike(t *testing.T) {
	t.Parallel()
	w := library(t)
	use(t, w, tool.ToolRead, arguments{"targets": []string{"log/flush.go:1-2"}, "session_id": "s"})
	var first []string
	for i, verbosity := range tool.Verbosities() {
		e, _ := use(t, w, tool.ToolSearch, arguments{
			"query": "entries limit", "limit": 12, "verbosity": verbosity, "session_id": "s", "max_response_tokens": 25_000,
		})
		if i == 0 {
			first = ids(e)
		}
		if diff := cmp.Diff(first, ids(e)); diff != "" || e.Results[0].FilePath != "log/flush.go" {
			t.Errorf("%s begins with %s (-summary +it):\n%s", verbosity, e.Results[0].FilePath, diff)
		}
	}
}
