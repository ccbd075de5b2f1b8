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
	asked := arguments{"query": "greet", "codebase": root, "freshness": string(tool.ModeStrict)}
	agent, _ := use(t, vanished(), tool.ToolSearch, asked)
	if agent.Error == nil || len(agent.NextSteps) != 1 {
		t.Fatalf("strict answers %v with steps %+v", agent.Error, agent.NextSteps)
	}
	step := agent.NextSteps[0]
	if answer, _ := use(t, vanished(), step.Tool, step.Arguments); answer.Error != nil || len(answer.Results) == 0 || answer.Freshness.State != search.Unknown {
		t.Errorf("the step %+v answers %v, %d hits, %s", step, answer.Error, len(answer.Results), answer.Freshness.State)
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
		answer, _ := use(t, w, step.Tool, step.Arguments)
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

// A damaged content costs the hits that need it and no other, in every mode: they are left
// out, their files named and behind, and a step repairs. A strict read is refused.
func TestDamagedHitsCostThemselves(t *testing.T) {
	t.Parallel()
	for _, mode := range []search.Mode{search.ModeHybrid, search.ModeText, search.ModeSemantic, search.ModeSymbol, search.ModeExact, search.ModeRegex} {
		w := indexed(t)
		w.Write(root, "again.go", "// greet again\nfunc Greet() {}\n")
		call(t, w, "sync", tool.ManageParams{Scope: scope(), Wait: true})
		params := tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Query: "Greet", Mode: string(mode)}}
		whole := call(t, w, "search", params)
		w.Damaged = []string{"again.go"}
		e := call(t, w, "search", params)
		if e.Error != nil || len(e.Results) == 0 || len(e.Results) >= len(whole.Results) || e.TotalIsExact {
			t.Errorf("%s: %v, %d of %d hits, exact %v", mode, e.Error, len(e.Results), len(whole.Results), e.TotalIsExact)
			continue
		}
		if e.Freshness.State != search.Behind || cmp.Diff([]string{"again.go"}, e.Freshness.PendingPaths) != "" {
			t.Errorf("%s: %s, pending %q", mode, e.Freshness.State, e.Freshness.PendingPaths)
		}
		if len(e.NextSteps) == 0 || e.NextSteps[0].Arguments["action"] != tool.ActionRepair {
			t.Errorf("%s: steps %+v", mode, e.NextSteps)
		}
		params.Freshness = tool.ModeStrict
		if refused := call(t, w, "search", params); refused.Error == nil || refused.Error.Code != tool.CodeStoreUnavailable {
			t.Errorf("%s: strict answers %v", mode, refused.Error)
		}
	}
}

// The symbols of files without syntax are not known, so that the total of mode symbol is a
// lower bound while there are such files.
func TestSymbolTotalsAreExactWhenAllIsParsed(t *testing.T) {
	t.Parallel()
	params := tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Query: "Greet", Mode: "symbol"}}
	for name, c := range map[string]struct {
		change func(w *tooltest.World)
		exact  bool
	}{
		"all is parsed":    {func(*tooltest.World) {}, true},
		"two are parked":   {func(w *tooltest.World) { w.Parked = 2 }, false},
		"words are sealed": {func(w *tooltest.World) { w.TextOnly = true; w.Write(root, "new.go", "func Greet() {}\n") }, false},
	} {
		w := indexed(t)
		c.change(w)
		e := call(t, w, "search", params)
		if e.Error != nil || e.TotalIsExact != c.exact {
			t.Errorf("%s: exact %v, %v", name, e.TotalIsExact, e.Error)
		}
	}
}
