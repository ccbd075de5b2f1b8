package tool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
)

// TestOverview counts files by directory and names the definitions that are public.
func TestOverview(t *testing.T) {
	t.Parallel()
	w := tooltest.New()
	w.Write(root, "main.go", "func Main() {\n\tcall a\n}\nfunc helper() {\n\tcall b\n\tcall c\n\tcall d\n}\n")
	w.Write(root, "srv/http/server.go", "type Server {\n\tfield\n\tfield\n}\nfunc Serve() {\n}\n")
	w.Write(root, "srv/read.md", "# Reading\n")
	call(t, w, "index", tool.ManageParams{Path: root, Wait: true})
	describe := func(path string) []tool.DirectoryInfo {
		e, _ := use(t, w, tool.ToolList, arguments{"view": "overview", "path": path})
		if e.Error != nil {
			t.Fatal(e.Error)
		}
		return *e.Overview
	}
	want := []tool.DirectoryInfo{
		{Path: ".", Files: 1, Bytes: 66, Languages: []tool.LanguageCount{{Language: "Go", Files: 1}}, Definitions: []tool.MainDefinition{
			{Name: "Main", Kind: "function", FilePath: "main.go", StartLine: 1, EndLine: 3}}},
		{Path: "srv", Files: 2, Bytes: 57, Languages: []tool.LanguageCount{{Language: "Go", Files: 1}, {Language: "Markdown", Files: 1}},
			Definitions: []tool.MainDefinition{
				{Name: "Server", Kind: "struct", FilePath: "srv/http/server.go", StartLine: 1, EndLine: 4},
				{Name: "Serve", Kind: "function", FilePath: "srv/http/server.go", StartLine: 5, EndLine: 6}}},
	}
	if diff := cmp.Diff(want, describe("")); diff != "" {
		t.Errorf("the root (-want +got):\n%s", diff)
	}
	var names []string
	for _, d := range describe("srv") {
		names = append(names, d.Path)
	}
	if diff := cmp.Diff([]string{".", "srv/http"}, names); diff != "" {
		t.Errorf("directories of srv (-want +got):\n%s", diff)
	}
	if e, _ := use(t, w, tool.ToolList, arguments{"view": "overview", "path": "nope"}); e.Error == nil || e.Error.Code != tool.CodePathNotFound {
		t.Errorf("a directory that is not there: %v", e.Error)
	}
}

// TestProgressPolls: a call without a wait returns at once, one with a wait when the time
// is over or the operation ended.
func TestProgressPolls(t *testing.T) {
	t.Parallel()
	w := library(t)
	ended, _ := use(t, w, tool.ToolList, arguments{"view": "progress"})
	if ended.Operation == nil || ended.Operation.Phase != tool.PhaseDone || ended.Summary == nil || len(ended.NextSteps) != 0 {
		t.Errorf("after the end: %+v, summary %v, steps %v", ended.Operation, ended.Summary, ended.NextSteps)
	}
	w.Running = &tool.Operation{ID: "op-c1", Kind: tool.OperationSync, Phase: tool.PhaseChunking}
	for _, wait := range []int{0, 20} {
		e, _ := use(t, w, tool.ToolList, arguments{"view": "progress", "wait_ms": wait})
		if e.Error != nil || e.Operation == nil || e.Operation.Phase != tool.PhaseChunking || len(e.NextSteps) != 1 {
			t.Errorf("waiting %d ms: error %v, %+v, steps %v", wait, e.Error, e.Operation, e.NextSteps)
		}
	}
	gone := errors.New("the client is gone")
	e := tool.Dispatch(t.Context(), w.Backend(), tool.ToolList, []byte(`{"cwd":"/src/web","view":"progress","wait_ms":60000}`),
		func(tool.Notice) error { return gone })
	if e.Error == nil || !errors.Is(e.Error, gone) {
		t.Errorf("a client that is gone: %v", e.Error)
	}
}

// TestFirstIndexIsWaitedForNoLonger: a search during the first index says indexing within
// its max_wait_ms, and not what is pending.
func TestFirstIndexIsWaitedForNoLonger(t *testing.T) {
	t.Parallel()
	w := tooltest.New()
	w.Write(root, "a.go", "func A() {}\n")
	if _, err := w.Register(t.Context(), root, tool.Permit{Person: true}); err != nil {
		t.Fatal(err)
	}
	w.Running = &tool.Operation{ID: "op-c1", Kind: tool.OperationIndex, Phase: tool.PhaseScanning}
	w.Down = errors.New("the tree must not be looked at")
	e, _ := use(t, w, tool.ToolSearch, arguments{"query": "A", "max_wait_ms": 1})
	if e.Error == nil || e.Error.Code != tool.CodeIndexing || e.State != tool.StateIndexing || e.Operation == nil {
		t.Errorf("error %v, state %s, operation %v", e.Error, e.State, e.Operation)
	}
}

func TestManageReturnsAtOnce(t *testing.T) {
	t.Parallel()
	for _, action := range tool.Actions() {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			w := library(t)
			w.Write(root, "log/new.go", "func New() {}\n")
			a := arguments{"action": action}
			if action == tool.ActionCreate {
				a["path"] = root
			}
			e, _ := use(t, w, tool.ToolManage, a)
			switch action {
			case tool.ActionCancel:
				if e.Error != nil || !warned(e, "nothing_to_cancel") {
					t.Errorf("error %v, warnings %v", e.Error, e.Warnings)
				}
			case tool.ActionClear:
				if e.Error == nil || e.Error.Code != tool.CodeConfirmationRequired {
					t.Errorf("error %v", e.Error)
				}
			default:
				if e.Error != nil || e.Operation == nil || e.Operation.Phase.Ended() {
					t.Errorf("error %v, operation %+v", e.Error, e.Operation)
				}
				if len(e.NextSteps) != 1 || e.NextSteps[0].Arguments["view"] != tool.ListProgress {
					t.Errorf("steps %v", e.NextSteps)
				}
			}
			if served, err := w.Codebases(context.Background()); err != nil || served[0].Current != 1 {
				t.Errorf("snapshot %d is served: the call did not return at once (%v)", served[0].Current, err)
			}
		})
	}
}

// TestClearTakesTwoSteps: the token of the first call clears, unless the index changed
// meanwhile; neither the id nor a guess does.
func TestClearTakesTwoSteps(t *testing.T) {
	t.Parallel()
	w := library(t)
	ask := func(a arguments) *tool.Envelope {
		e, _ := use(t, w, tool.ToolManage, arguments{"action": "clear"}.with(a))
		return e
	}
	first := ask(nil)
	for _, guess := range []string{"c1", "web", "yes", "clear-"} {
		if e := ask(arguments{"confirm": guess}); e.Error == nil || e.Error.Code != tool.CodeConfirmationRequired {
			t.Errorf("%s clears: %v", guess, e.Error)
		}
	}
	w.Write(root, "log/new.go", "func New() {}\n")
	call(t, w, "sync", tool.ManageParams{Scope: scope(), Wait: true})
	if e := ask(first.NextSteps[0].Arguments); e.Error == nil {
		t.Error("a token of an earlier index clears")
	}
	if e := ask(ask(nil).NextSteps[0].Arguments); e.Error != nil || e.State != tool.StateNotFound {
		t.Errorf("the token does not clear: %v, %s", e.Error, e.State)
	}
	if left, err := w.Codebases(context.Background()); err != nil || len(left) != 0 {
		t.Errorf("%d codebases are left (%v)", len(left), err)
	}
}

// TestDryRunChangesNothing and says how to do it.
func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	w := tooltest.New()
	w.Write(root, "a.go", "func A() {}\n")
	e, text := use(t, w, tool.ToolManage, arguments{"action": "create", "path": root, "dry_run": true})
	if e.Error != nil || e.Plan == nil || e.Plan.Files != 1 || e.Plan.EmbeddingsNew != 1 || !strings.Contains(text, "1 file") {
		t.Fatalf("error %v, plan %+v:\n%s", e.Error, e.Plan, text)
	}
	if all, err := w.Codebases(context.Background()); err != nil || len(all) != 0 {
		t.Errorf("%d codebases after a dry run (%v)", len(all), err)
	}
	done, _ := use(t, w, e.NextSteps[0].Tool, e.NextSteps[0].Arguments)
	if done.Error != nil || done.Operation == nil {
		t.Errorf("the next step does not do it: %v", done.Error)
	}
}

// TestSearchAtASnapshot reads what was, and says so.
func TestSearchAtASnapshot(t *testing.T) {
	t.Parallel()
	w := indexed(t)
	w.Write(root, "greet.go", "func Farewell() {}\n")
	call(t, w, "sync", tool.ManageParams{Scope: scope(), Wait: true})
	ask := func(at int) *tool.Envelope {
		e, _ := use(t, w, tool.ToolSearch, arguments{"query": "func", "at": at})
		if e.Error != nil {
			t.Fatal(e.Error)
		}
		return e
	}
	then, now := ask(1), ask(0)
	if then.Freshness.Snapshot != 1 || then.Freshness.State != "unchecked" || !strings.Contains(then.Results[0].Content, "Greet") || then.Results[0].Verified {
		t.Errorf("snapshot 1: %+v, %+v", then.Freshness, then.Results)
	}
	if now.Freshness.Snapshot != 2 || slices.Equal(ids(then), ids(now)) {
		t.Errorf("now: %+v, %+v", now.Freshness, now.Results)
	}
}
