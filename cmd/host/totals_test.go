package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store/search"
)

// Promise 11: whatever is listed by pages adds up. Every search mode, with and without
// filters, every list and comparison is followed by its cursors with small limits and small
// budgets, over a tree that has masked files, secrets and binary ones: no item comes twice,
// none is lost, and what the pages hold is the total, unless that is marked a lower bound
// that says what was not looked at.
func TestPagesAddUpToTheTotal(t *testing.T) {
	t.Parallel()
	s := connect(t, t.TempDir())
	root := tree(t)
	for i := range 9 {
		write(t, root, fmt.Sprintf("wide/d%d/needle%d.go", i, i), fmt.Sprintf("package d\n\n// needle of %d\nfunc Needle%d() {\n\tneedle()\n\tneedle()\n}\n", i, i))
	}
	write(t, root, "masked.go", "package m\n\n// needle\nconst needleKey = \"ghp_0123456789abcdefghijABCDEFGHIJ456789\"\n")
	write(t, root, ".env", "needle=1\n")
	write(t, root, "binary.dat", "needle\x00needle")
	must(t, s, "index", map[string]any{"path": root, "wait": true})
	for i := range 4 {
		write(t, root, fmt.Sprintf("wide/d%d/needle%d.go", i, i), fmt.Sprintf("package d\n\n// changed\nfunc Changed%d() {}\n\n// needle\nfunc Second%d() {}\n", i, i))
		must(t, s, "sync", map[string]any{"codebase": root, "wait": true})
	}
	var calls []walked
	for _, mode := range search.Modes() {
		for _, filter := range []map[string]any{{}, {"paths": []string{"wide/**"}}, {"langs": []string{"Go"}, "paths": []string{"!wide/d1/**"}}} {
			for _, limit := range []int{1, 2, 7} {
				a := map[string]any{"query": "needle", "mode": string(mode), "limit": limit}
				maps.Copy(a, filter)
				calls = append(calls, walked{tool.ToolSearch, a})
			}
		}
	}
	calls = append(calls, walked{tool.ToolList, map[string]any{"view": "overview", "path": "wide", "max_response_tokens": 400}},
		walked{tool.ToolList, map[string]any{"view": "history", "max_response_tokens": 500}})
	for _, level := range tool.CompareLevels() {
		for _, limit := range []int{1, 3} {
			calls = append(calls, walked{tool.ToolCompare, map[string]any{"from": 1, "level": level, "limit": limit}})
		}
	}
	paged := 0
	for _, c := range calls {
		c.arguments["codebase"], c.arguments["verbosity"] = root, "summary"
		if c.walk(t, s) > 1 {
			paged++
		}
	}
	if paged < 20 {
		t.Errorf("only %d of %d lists had more than one page", paged, len(calls))
	}
}

// walked is a call whose answer is a list.
type walked struct {
	tool      string
	arguments map[string]any
}

// walk follows the cursors of a list and returns how many pages it has.
func (c walked) walk(t *testing.T, s *Session) int {
	t.Helper()
	arguments := maps.Clone(c.arguments)
	seen := map[string]bool{}
	for page := 1; ; page++ {
		e := must(t, s, c.tool, arguments)
		items := itemsOf(t, e)
		for _, item := range items {
			if seen[item] {
				t.Errorf("%s %v: page %d has %s again", c.tool, c.arguments, page, item)
			}
			seen[item] = true
		}
		if len(items) != e.ReturnedCount {
			t.Errorf("%s %v: %d items, returned_count %d", c.tool, c.arguments, len(items), e.ReturnedCount)
		}
		if !e.TotalIsExact && e.NotSearched == nil && len(e.Warnings) == 0 {
			t.Errorf("%s %v: the total is a lower bound, and nothing says of what", c.tool, c.arguments)
		}
		if e.TotalCount < len(seen) || e.TotalIsExact && e.TotalCount != len(seen)+e.RemainingCount {
			t.Errorf("%s %v: page %d: total %d, exact %v, %d seen, %d remain", c.tool, c.arguments, page, e.TotalCount, e.TotalIsExact, len(seen), e.RemainingCount)
		}
		if e.HasMore != (e.NextCursor != "") || page > 200 {
			t.Fatalf("%s %v: page %d, has_more %v, cursor %q", c.tool, c.arguments, page, e.HasMore, e.NextCursor)
		}
		if !e.HasMore {
			if e.TotalIsExact && len(seen) != e.TotalCount || e.TotalCount == 0 {
				t.Errorf("%s %v: %d items in all, total %d", c.tool, c.arguments, len(seen), e.TotalCount)
			}
			return page
		}
		arguments["cursor"] = e.NextCursor
	}
}

// itemsOf are the items of an answer, each as JSON without what differs by the page.
func itemsOf(t *testing.T, e *tool.Envelope) (items []string) {
	t.Helper()
	add := func(item any) {
		data, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, string(data))
	}
	for _, hit := range e.Results {
		add([]any{hit.FilePath, hit.StartLine, hit.EndLine, hit.FQN, hit.ID})
	}
	if e.Overview != nil {
		for _, d := range *e.Overview {
			add(d)
		}
	}
	if e.Snapshots != nil {
		for _, n := range *e.Snapshots {
			add(n)
		}
	}
	if e.Changes != nil {
		for _, change := range *e.Changes {
			add(change)
		}
	}
	return items
}
