package tool_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store/search"
)

// TestSchemasAreSmall counts the input schemas as a client reads them.
func TestSchemasAreSmall(t *testing.T) {
	t.Parallel()
	total := 0
	for _, described := range tool.Tools() {
		schema, err := jsonschema.ForType(reflect.TypeOf(described.NewParams()).Elem(), &jsonschema.ForOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		total += len(text)
		if strings.Contains(string(text), `"cwd"`) {
			t.Errorf("%s lets a client name the working directory", described.Name)
		}
		if described.Annotations.Reason == "" || described.Title == "" || described.Description == "" {
			t.Errorf("%s is not described", described.Name)
		}
	}
	t.Logf("%d characters", total)
	if total >= 14_000 {
		t.Errorf("the input schemas have %d characters, at most 14,000", total)
	}
}

// TestFieldTable: the table names each member of a hit once, in its order, and a hit shows
// at each verbosity what the table says.
func TestFieldTable(t *testing.T) {
	t.Parallel()
	var members, listed []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[tool.Hit]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		members = append(members, name)
	}
	since := map[string]tool.Verbosity{}
	for _, field := range tool.HitFields() {
		listed = append(listed, field.Name)
		since[field.Name] = field.Since
	}
	if diff := cmp.Diff(members, listed); diff != "" {
		t.Fatalf("members of a hit and the table (-members +table):\n%s", diff)
	}
	w := library(t)
	rank := func(v tool.Verbosity) int { return slices.Index(tool.Verbosities(), v) }
	for _, verbosity := range tool.Verbosities() {
		e, _ := use(t, w, tool.ToolSearch, arguments{"query": "Queue", "mode": "symbol", "context_lines": 2, "verbosity": verbosity, "limit": 1})
		shown := map[string]any{}
		text, err := json.Marshal(e.Results[0])
		if err == nil {
			err = json.Unmarshal(text, &shown)
		}
		if err != nil {
			t.Fatal(err)
		}
		for name := range shown {
			if rank(since[name]) > rank(verbosity) {
				t.Errorf("%s is shown at %s", name, verbosity)
			}
		}
		for name, from := range since {
			optional := slices.Contains([]string{"seen", "index", "total_lines", "explain", "marks"}, name)
			if _, ok := shown[name]; !ok && !optional && rank(from) <= rank(verbosity) {
				t.Errorf("%s is not shown at %s", name, verbosity)
			}
		}
	}
}

// TestVerbositiesAreProjections: whatever is asked, the three levels have the same items in
// the same order; a budget only takes items off the end; what is sent keeps to the budget;
// and the pages of the cursor join to the whole.
func TestVerbositiesAreProjections(t *testing.T) {
	t.Parallel()
	w := library(t)
	rapid.Check(t, func(r *rapid.T) {
		asked := arguments{
			"query": rapid.SampledFrom([]string{"func", "entries limit", "Flush", "log", "step3 queue"}).Draw(r, "query"),
			"mode":  rapid.SampledFrom([]string{"hybrid", "text", "symbol"}).Draw(r, "mode"),
			"limit": rapid.IntRange(1, 40).Draw(r, "limit"),
		}
		if rapid.Bool().Draw(r, "context") {
			asked["context_lines"] = 3
		}
		format := rapid.SampledFrom([]string{"markdown", "json"}).Draw(r, "format")
		var whole []string
		for i, verbosity := range tool.Verbosities() {
			all, _ := use(t, w, tool.ToolSearch, asked.with(arguments{"verbosity": verbosity, "format": format, "max_response_tokens": 25_000}))
			if all.Truncated {
				r.Skip("more than the largest budget holds")
			}
			if i == 0 {
				whole = ids(all)
			}
			if diff := cmp.Diff(whole, ids(all)); diff != "" {
				r.Fatalf("%s has other items (-summary +it):\n%s", verbosity, diff)
			}
		}
		budget := rapid.IntRange(300, 6000).Draw(r, "budget")
		verbosity := rapid.SampledFrom(tool.Verbosities()).Draw(r, "verbosity")
		asked = asked.with(arguments{"verbosity": verbosity, "format": format, "max_response_tokens": budget})
		var joined []string
		for cursor := ""; ; {
			page, text := use(t, w, tool.ToolSearch, asked.with(arguments{"cursor": cursor}))
			if page.Error != nil {
				if page.Error.Code != tool.CodeBudgetTooSmall {
					r.Fatal(page.Error)
				}
				return
			}
			if len(text) > 4*budget || page.ApproxTokens > budget {
				r.Fatalf("%d bytes, %d tokens for a budget of %d tokens", len(text), page.ApproxTokens, budget)
			}
			joined = append(joined, ids(page)...)
			if cursor = page.NextCursor; cursor == "" || len(joined) >= len(whole) {
				break
			}
		}
		if !slices.Equal(joined[:min(len(joined), len(whole))], whole) {
			r.Fatalf("pages join to\n%v, want\n%v", joined, whole)
		}
	})
}

// TestBudgetTooSmallNamesTheOneThatDoes repeats the refused call as its next step says.
func TestBudgetTooSmallNamesTheOneThatDoes(t *testing.T) {
	t.Parallel()
	w := library(t)
	for _, format := range tool.Formats() {
		asked := arguments{"query": "Flush", "mode": "symbol", "max_response_tokens": 120, "format": string(format)}
		e, _ := use(t, w, tool.ToolSearch, asked)
		if e.Error == nil || e.Error.Code != tool.CodeBudgetTooSmall || len(e.NextSteps) != 1 {
			t.Fatalf("%s: error %v with steps %v", format, e.Error, e.NextSteps)
		}
		again, text := use(t, w, e.NextSteps[0].Tool, e.NextSteps[0].Arguments)
		if again.Error != nil || len(again.Results) == 0 {
			t.Errorf("%s: the next step gives %v, %s", format, again.Error, text)
		}
	}
}

// TestSummaryIsAQuarter: the median summary has at most a quarter of the size of the
// standard answer.
func TestSummaryIsAQuarter(t *testing.T) {
	t.Parallel()
	w := library(t)
	var shares []float64
	for _, query := range []string{"Queue", "Batch", "Flush", "Drain", "0", "1", "2", "3"} {
		size := func(v tool.Verbosity) float64 {
			_, text := use(t, w, tool.ToolSearch, arguments{"query": query, "mode": "symbol", "verbosity": v})
			return float64(len(text))
		}
		shares = append(shares, size(tool.VerbositySummary)/size(tool.VerbosityStandard))
	}
	slices.Sort(shares)
	if median := shares[len(shares)/2]; median > 0.25 {
		t.Errorf("the median summary has %.2f of the standard answer: %.2v", median, shares)
	}
}

// TestEveryFactInEachRendering: what the JSON says of the verdict, the codebase, the items
// and the remarks stands in the Markdown too.
func TestEveryFactInEachRendering(t *testing.T) {
	t.Parallel()
	w := library(t)
	w.Write(root, "log/new.go", "func New() {}\n")
	w.NoCatchUp, w.Unprovable = true, "the watcher lost its events"
	for _, verbosity := range tool.Verbosities() {
		e, text := use(t, w, tool.ToolSearch, arguments{"query": "Queue", "mode": "symbol", "limit": 2, "verbosity": verbosity, "session_id": "s1"})
		f := e.Freshness
		facts := []string{
			string(f.State), f.Token, f.MerkleRoot[:12], f.Fingerprint.Short(), f.Level, f.Reason, fmt.Sprint("snapshot ", f.Snapshot),
			string(e.Codebase.ID), e.Codebase.Root, e.Codebase.Ref, string(e.State), e.NextCursor, "2 remain", "session: `s1`",
		}
		for _, w := range e.Warnings {
			facts = append(facts, w.Code, w.Message)
		}
		for _, h := range e.Results {
			facts = append(facts, h.ID, fmt.Sprintf("%s:%d-%d", h.FilePath, h.StartLine, h.EndLine), h.FQN, h.SymbolKind, h.Signature,
				fmt.Sprint(h.Edges.Calls, " calls"), h.Doc, strings.Join(h.Parameters, ", "), strings.Join(h.DependsOn, ", "), strings.TrimSpace(h.Content))
		}
		for _, fact := range facts {
			if !strings.Contains(text, fact) {
				t.Errorf("%s: the Markdown lacks %q", verbosity, fact)
			}
		}
	}
}

// TestFilesWithSeveralHardLinksAreCounted: by the verdict of each rendering, where there are any.
func TestFilesWithSeveralHardLinksAreCounted(t *testing.T) {
	t.Parallel()
	w := library(t)
	for _, linked := range []int{0, 3} {
		w.Linked = linked
		e, text := use(t, w, tool.ToolSearch, arguments{"query": "Queue", "mode": "symbol"})
		if e.Freshness.State != search.Current || e.Freshness.LinkedFiles != linked {
			t.Errorf("%d files: %+v", linked, e.Freshness)
		}
		for _, label := range []struct{ where, text, want string }{
			{"text", text, "hard-linked"}, {"JSON", tool.JSON(e), `"linked_files":`},
		} {
			if strings.Contains(label.text, label.want) != (linked > 0) {
				t.Errorf("%d files: the %s has %q, or lacks it", linked, label.where, label.want)
			}
		}
	}
}

// TestHostileTextStaysInItsFence: no line of a file begins a line of the answer outside of
// a fence, and no hidden character comes through.
func TestHostileTextStaysInItsFence(t *testing.T) {
	t.Parallel()
	w := library(t)
	for _, name := range []string{tool.ToolRead, tool.ToolSearch} {
		_, text := use(t, w, name, map[string]arguments{
			tool.ToolRead: {"targets": []string{"notes.md"}}, tool.ToolSearch: {"query": "ignore early fence"},
		}[name])
		fence := ""
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case fence == "" && strings.HasPrefix(line, "```"):
				fence = strings.TrimRight(line, "abcdefghijklmnopqrstuvwxyz-")
			case fence != "" && line == fence:
				fence = ""
			case fence == "" && (strings.HasPrefix(line, "ignore") || strings.HasPrefix(line, "close")):
				t.Errorf("%s: %q stands outside of a fence", name, line)
			}
		}
		if fence != "" {
			t.Errorf("%s: a fence is not closed", name)
		}
		if strings.ContainsAny(text, "\u202e\u202c\u200b\x1b") {
			t.Errorf("%s: hidden characters come through", name)
		}
	}
}
