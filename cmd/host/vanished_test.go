package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store/search"
)

// A root that is gone, or a link to another place, has typed errors in every verb and tool,
// never internal; what is answered is of the last snapshot, and unknown. Putting it back is
// enough.
func TestVanishedRootHasTypedErrors(t *testing.T) {
	t.Parallel()
	s := connect(t, t.TempDir())
	root := filepath.Join(t.TempDir(), "tree")
	write(t, root, "a.go", "package a\n\nfunc Vanishing() {}\n")
	write(t, root, "sub/b.go", "package sub\n\nfunc Other() { Vanishing() }\n")
	must(t, s, "index", map[string]any{"path": root, "wait": true})
	calls := []struct {
		name      string
		arguments map[string]any
	}{
		{"why", map[string]any{"path": "a.go"}},
		{"status", map[string]any{}},
		{"sync", map[string]any{"wait": true}},
		{"reindex", map[string]any{"wait": true}},
		{"index", map[string]any{"wait": true}},
		{"verify", map[string]any{}},
		{"verify", map[string]any{"repair": true}},
		{"export", map[string]any{"quiet": true}},
		{"diff", map[string]any{"from": 1}},
		{"snapshots", map[string]any{}},
		{"cancel", map[string]any{}},
		{tool.ToolRead, map[string]any{"targets": []string{"a.go"}}},
		{tool.ToolRead, map[string]any{"targets": []string{"Vanishing"}}},
		{tool.ToolCompare, map[string]any{"from": 1}},
		{tool.ToolManage, map[string]any{"action": "clear"}},
	}
	for _, mode := range search.Modes() {
		for _, freshness := range tool.FreshnessModes() {
			calls = append(calls, struct {
				name      string
				arguments map[string]any
			}{tool.ToolSearch, map[string]any{"query": "Vanishing", "mode": string(mode), "freshness": string(freshness)}})
		}
	}
	for _, view := range tool.ListViews() {
		calls = append(calls, struct {
			name      string
			arguments map[string]any
		}{tool.ToolList, map[string]any{"view": view, "path": "a.go"}})
	}
	for _, action := range []string{tool.ActionSync, tool.ActionReindex, tool.ActionRepair, tool.ActionCreate} {
		calls = append(calls, struct {
			name      string
			arguments map[string]any
		}{tool.ToolManage, map[string]any{"action": action, "dry_run": true}})
	}
	away := root + ".away"
	for _, gone := range []struct {
		name        string
		take, bring func() error
	}{
		{"moved away", func() error { return os.Rename(root, away) }, func() error { return os.Rename(away, root) }},
		{"a link elsewhere", func() error {
			if err := os.Rename(root, away); err != nil {
				return err
			}
			return os.Symlink(t.TempDir(), root)
		}, func() error {
			if err := os.Remove(root); err != nil {
				return err
			}
			return os.Rename(away, root)
		}},
		{"a file", func() error {
			if err := os.Rename(root, away); err != nil {
				return err
			}
			return os.WriteFile(root, nil, 0o600)
		}, func() error {
			if err := os.Remove(root); err != nil {
				return err
			}
			return os.Rename(away, root)
		}},
	} {
		check(t, gone.take())
		for _, c := range calls {
			c.arguments["codebase"] = root
			if c.name == tool.ToolList && c.arguments["view"] == tool.ListAll {
				delete(c.arguments, "codebase")
			}
			e, err := s.Call(t.Context(), c.name, c.arguments, nil)
			if err != nil {
				t.Fatalf("%s: %s %v: %v", gone.name, c.name, c.arguments, err)
			}
			judgeVanished(t, gone.name, c.name, c.arguments, e)
			for _, step := range e.NextSteps {
				if step.Tool == tool.ToolCommandLine || step.Tool == tool.ToolManage { // they change something
					continue
				}
				next, err := s.Call(t.Context(), step.Tool, step.Arguments, nil)
				if err != nil || next.Error != nil {
					t.Errorf("%s: %s %v offers %s %v, which gives %v", gone.name, c.name, c.arguments, step.Tool, step.Arguments, next.Error)
				}
			}
		}
		check(t, gone.bring())
		if paths, state := find(t, s, root, "Vanishing"); paths == "" || state != string(search.Current) && state != string(search.CaughtUp) {
			t.Errorf("%s, put back: %q is %s", gone.name, paths, state)
		}
	}
}

// judgeVanished holds an answer about a root that is gone to a typed error, which says what to
// do where the tree itself was asked for, or to a verdict that does not claim to know the tree.
func judgeVanished(t *testing.T, state, name string, arguments map[string]any, e *tool.Envelope) {
	t.Helper()
	allowed := []tool.Code{tool.CodePathNotFound, tool.CodeStaleTimeout, tool.CodeIndexFailed, tool.CodeConfirmationRequired, tool.CodePermissionDenied, tool.CodeTargetNotFound}
	if e.Error != nil && !slices.Contains(allowed, e.Error.Code) {
		t.Errorf("%s: %s %v gives %v", state, name, arguments, e.Error)
	}
	if e.Error != nil && slices.Contains([]string{"sync", "index", "reindex", "verify"}, name) && !strings.Contains(e.Error.Message, "put the directory back") {
		t.Errorf("%s: %s %v does not say what to do: %v", state, name, arguments, e.Error)
	}
	if s := e.Freshness.State; s == search.Current || s == search.CaughtUp || s == search.Behind {
		t.Errorf("%s: %s %v is %s: %+v", state, name, arguments, s, e.Error)
	}
	if e.Error == nil && name == tool.ToolSearch && arguments["mode"] != string(search.ModePath) && e.ReturnedCount == 0 {
		t.Errorf("%s: %v finds none of %d in the last snapshot: %v", state, arguments, e.TotalCount, e.Warnings)
	}
}
