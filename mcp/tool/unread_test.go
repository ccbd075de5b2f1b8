package tool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
	"github.com/freshet/freshet/store/search"
)

func regexOf(pattern, cursor string, freshness tool.Mode, limit int) tool.SearchParams {
	return tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Demand: tool.Demand{Freshness: freshness},
		Query: pattern, Mode: "regex", Limit: limit, Cursor: cursor}}
}

// No answer is current for files whose contents the store does not give: they are named,
// the total is a lower bound, and a step sets it right.
func TestUnreadContentsAreNotCurrent(t *testing.T) {
	t.Parallel()
	for _, freshness := range tool.FreshnessModes() {
		w := indexed(t)
		w.Unread = 3
		e := call(t, w, "search", regexOf("greet", "", freshness, 0))
		if len(e.NextSteps) == 0 || e.NextSteps[0].Arguments["action"] != tool.ActionRepair {
			t.Errorf("%s: steps %+v do not repair", freshness, e.NextSteps)
		}
		if freshness == tool.ModeStrict {
			if e.Error == nil || e.Error.Code != tool.CodeStoreUnavailable {
				t.Errorf("strict answers %+v", e.Error)
			}
			continue
		}
		want := search.Behind
		if freshness == tool.ModeEventual {
			want = search.Unchecked
		}
		if e.Freshness.State != want || e.TotalIsExact || e.NotSearched == nil || e.Status != tool.StatusPartial {
			t.Errorf("%s: %s, exact %v, %+v, %s", freshness, e.Freshness.State, e.TotalIsExact, e.NotSearched, e.Status)
		}
		if want == search.Behind && (e.Freshness.PendingCount != 3 || cmp.Diff([]string{"lost.go"}, e.Freshness.PendingPaths) != "") {
			t.Errorf("%d pending: %q", e.Freshness.PendingCount, e.Freshness.PendingPaths)
		}
	}
}

// The pages of mode regex are one list: each line once, with one total.
func TestRegexPagesAreOneList(t *testing.T) {
	t.Parallel()
	w := indexed(t)
	seen, cursor := map[string]bool{}, ""
	for page := 0; ; page++ {
		e := call(t, w, "search", regexOf("greet", cursor, "", 1))
		if e.Error != nil || len(e.Results) != 1 || seen[e.Results[0].ID] || e.TotalCount != len(seen)+1+e.RemainingCount {
			t.Fatalf("page %d: %v, %d of %d with %d left", page, e.Error, len(e.Results), e.TotalCount, e.RemainingCount)
		}
		seen[e.Results[0].ID] = true
		if cursor = e.NextCursor; !e.HasMore {
			break
		}
	}
	if len(seen) < 3 {
		t.Errorf("%d lines, want all", len(seen))
	}
}

// While the root cannot be looked at nothing is known of it: the verdict stays unknown, no
// hit counts as gone, and the step that strict offers answers.
func TestAVanishedRootIsUnknown(t *testing.T) {
	t.Parallel()
	vanished := func() *tooltest.World {
		w := indexed(t)
		w.Unprovable = "the root is gone"
		w.Remove(root, "greet.go")
		w.Remove(root, "read.md")
		return w
	}
	params := tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Query: "greet"}}
	e := call(t, vanished(), "search", params)
	if e.Freshness.State != search.Unknown || len(e.Results) == 0 || e.TotalCount != len(e.Results) || e.Results[0].Verified {
		t.Errorf("%s with %d of %d hits", e.Freshness.State, len(e.Results), e.TotalCount)
	}
	for _, warning := range e.Warnings {
		if warning.Code == "hits_dropped" || warning.Code == "no_hits" {
			t.Errorf("warning %+v", warning)
		}
	}
	params.Freshness = tool.ModeStrict
	refused := call(t, vanished(), "search", params)
	for _, step := range refused.NextSteps {
		if step.Arguments["action"] == tool.ActionSync {
			t.Error("strict advises a sync, which cannot look at the root either")
		}
	}
}

// What cannot be read is behind in every answer, and the step asks why; no answer to that
// question asks it again, and none proposes to wait or to sync, which read no more.
func TestKeptPathsAreAskedAbout(t *testing.T) {
	t.Parallel()
	for _, freshness := range []tool.Mode{tool.ModeVerified, tool.ModeStrict} {
		w := indexed(t)
		w.Kept = []string{"lib", "other.go"}
		e, _ := use(t, w, tool.ToolSearch, arguments{"query": "greet", "codebase": root, "freshness": string(freshness)})
		if e.Freshness.State != search.Behind || len(e.NextSteps) != 1 || e.NextSteps[0].Arguments["path"] != "lib" {
			t.Fatalf("%s: %s, steps %+v", freshness, e.Freshness.State, e.NextSteps)
		}
		step := e.NextSteps[0]
		answer, _ := use(t, w, step.Tool, arguments(step.Arguments))
		if answer.Error != nil && answer.Error.Code != tool.CodePathNotFound {
			t.Errorf("the step answers %v", answer.Error)
		}
	}
	w := indexed(t)
	w.Kept = []string{"greet.go"}
	e := call(t, w, "why", tool.WhyParams{Scope: scope(), Path: "greet.go"})
	if e.Why == nil || e.Why.Searchable || e.Freshness.State != search.Behind {
		t.Fatalf("why says %+v, %s", e.Why, e.Freshness.State)
	}
	if last := e.Why.Steps[len(e.Why.Steps)-1]; last.Step != "kept" || last.OK {
		t.Errorf("the last step is %+v", last)
	}
	if len(e.NextSteps) != 1 || e.NextSteps[0].Tool != tool.ToolCommandLine {
		t.Errorf("steps %+v", e.NextSteps)
	}
}
