package tool_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
	"github.com/freshet/freshet/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden holds the exact text of answers, of every tool in each format and verbosity.
func TestGolden(t *testing.T) {
	t.Parallel()
	behind := func(w *tooltest.World) {
		w.Write(root, "log/new.go", "func New() {\n\tcall step1\n}\n")
		w.NoCatchUp = true
	}
	changed := func(w *tooltest.World) {
		w.Write(root, "log/batch.go", "func Batch0(entries []Entry) {\n\tcall step9\n}\n\nfunc Fresh() {\n}\n")
		w.Remove(root, "notes.md")
	}
	chunker := []store.FieldChange{{Label: "chunker", Old: "1", New: "2", Side: store.IndexSide}}
	cases := []struct {
		name, tool string
		arguments  arguments
		change     func(w *tooltest.World)
	}{
		{name: "search", tool: tool.ToolSearch, arguments: arguments{"query": "Queue", "mode": "symbol", "limit": 2}},
		{name: "search_lines", tool: tool.ToolSearch, arguments: arguments{"query": "moves entries", "limit": 3, "context_lines": 1}},
		{name: "search_truncated", tool: tool.ToolSearch, arguments: arguments{"query": "Flush", "mode": "symbol", "max_response_tokens": 900}},
		{name: "search_behind", tool: tool.ToolSearch, arguments: arguments{"query": "Queue1", "explain": true, "limit": 1}, change: behind},
		{name: "search_old_recipe", tool: tool.ToolSearch, arguments: arguments{"query": "Queue1", "limit": 1},
			change: func(w *tooltest.World) { w.Requires = chunker }},
		{name: "search_nothing", tool: tool.ToolSearch, arguments: arguments{"query": "zebra", "paths": []string{"log/**"}}},
		{name: "search_hostile", tool: tool.ToolSearch, arguments: arguments{"query": "fence above", "limit": 2}},
		{name: "read", tool: tool.ToolRead, arguments: arguments{"targets": []string{"log/queue.go:4-6", "Queue1", "nope.go"}}},
		{name: "read_hostile", tool: tool.ToolRead, arguments: arguments{"targets": []string{"notes.md"}}},
		{name: "read_skeleton", tool: tool.ToolRead, arguments: arguments{"targets": []string{"log/queue.go"}, "view": "skeleton"}},
		{name: "read_refused", tool: tool.ToolRead, arguments: arguments{"targets": []string{".git/config"}}},
		{name: "list", tool: tool.ToolList},
		{name: "list_state", tool: tool.ToolList, arguments: arguments{"view": "state"}, change: behind},
		{name: "list_progress", tool: tool.ToolList, arguments: arguments{"view": "progress"}},
		{name: "list_overview", tool: tool.ToolList, arguments: arguments{"view": "overview"}},
		{name: "list_health", tool: tool.ToolList, arguments: arguments{"view": "health"}},
		{name: "list_fingerprint", tool: tool.ToolList, arguments: arguments{"view": "fingerprint"},
			change: func(w *tooltest.World) { w.Requires = chunker }},
		{name: "list_history", tool: tool.ToolList, arguments: arguments{"view": "history"}},
		{name: "list_why", tool: tool.ToolList, arguments: arguments{"view": "why", "path": "notes.md"}},
		{name: "compare", tool: tool.ToolCompare, arguments: arguments{"from": 1}, change: changed},
		{name: "compare_symbols", tool: tool.ToolCompare, arguments: arguments{"from": 1, "level": "symbol"}, change: changed},
		{name: "manage_sync", tool: tool.ToolManage, arguments: arguments{"action": "sync"}},
		{name: "manage_dry_run", tool: tool.ToolManage, arguments: arguments{"action": "reindex", "dry_run": true}},
		{name: "manage_clear", tool: tool.ToolManage, arguments: arguments{"action": "clear"}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := library(t)
			if test.change != nil {
				test.change(w)
				if test.tool == tool.ToolCompare {
					call(t, w, "sync", tool.ManageParams{Scope: scope(), Wait: true})
				}
			}
			got := &txtar.Archive{}
			for _, verbosity := range tool.Verbosities() {
				for _, format := range tool.Formats() {
					_, text := use(t, w, test.tool, test.arguments.with(arguments{"verbosity": verbosity, "format": string(format)}))
					got.Files = append(got.Files, txtar.File{Name: string(verbosity) + "." + string(format), Data: []byte(text + "\n")})
				}
			}
			compareGolden(t, filepath.Join("testdata", "golden", test.name+".txtar"), txtar.Format(got))
		})
	}
}

func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
