package tool_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
	"github.com/freshet/freshet/sync/merkle"
)

// TestPathsCrossJSON: a root, a working directory and targets of any bytes arrive whole.
func TestPathsCrossJSON(t *testing.T) {
	t.Parallel()
	const root = "/src/bad\xff"
	for _, c := range []struct {
		name   string
		verb   string
		params any
	}{
		{"index a path", "index", tool.ManageParams{Path: merkle.QuotePath(root), Wait: true}},
		{"index the working directory", "index", tool.ManageParams{Scope: tool.Scope{CWD: merkle.QuotePath(root)}, Wait: true}},
		{"sync by path", "sync", tool.ManageParams{Scope: tool.Scope{Codebase: merkle.QuotePath(root)}, Wait: true}},
		{"search and create", "search", tool.SearchParams{Scope: tool.Scope{CWD: merkle.QuotePath(root)}, Create: true, SearchCodebase: tool.SearchCodebase{Query: "alpha"}}},
		{"why by an absolute path", "why", tool.WhyParams{Path: merkle.QuotePath(root + "/x\xff.go")}},
		{"read a path", "read", tool.ReadParams{ReadCode: tool.ReadCode{Targets: []string{tool.QuoteTarget("x\xff.go")}}}},
		{"read a range", "read", tool.ReadParams{ReadCode: tool.ReadCode{Targets: []string{tool.QuoteTarget(root + "/x\xff.go:1-1")}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := tooltest.New()
			w.Write(root, "x\xff.go", "alpha\n")
			w.Write("/src/bad\ufffd", "other.go", "beta\n") // what a lossy path would mean
			dispatch := func(verb string, params any) *tool.Envelope {
				raw, err := json.Marshal(params)
				if err != nil {
					t.Fatal(err)
				}
				return tool.Dispatch(t.Context(), w.Backend(), verb, raw, nil)
			}
			if c.verb != "index" && c.verb != "search" {
				dispatch("index", tool.ManageParams{Path: merkle.QuotePath(root), Wait: true})
			}
			e := dispatch(c.verb, c.params)
			if e.Error != nil || e.Codebase.Root != `"/src/bad\377"` {
				t.Errorf("error %v, root %q", e.Error, e.Codebase.Root)
			}
		})
	}
}

// TestCommandBytes: what a next step names can be pasted into a shell.
func TestCommandBytes(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, path := range []string{"/src/bad\xff", "/src/a'b\\c\n\x1b[31m", "/src/it's", "/src/ü ä", "/src/\u202e"} {
		step := tool.NextStep{Tool: tool.ToolManage, Arguments: map[string]any{"action": "create", "path": merkle.QuotePath(path)}}
		script := "freshet() { printf '%s' \"$2\"; }; " + tool.Command(step)
		out, err := exec.Command(shell, "-c", script).Output()
		if err != nil || string(out) != path {
			t.Errorf("%s gives %q for %q: %v", tool.Command(step), out, path, err)
		}
	}
}
