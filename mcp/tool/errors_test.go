package tool_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// provocation is a way to an error.
type provocation struct {
	code      tool.Code
	tool      string
	arguments arguments
	change    func(t *testing.T, w *tooltest.World)
}

func provocations() []provocation {
	running := &tool.Operation{ID: "op-c1", Kind: tool.OperationIndex, Phase: tool.PhaseChunking}
	query := arguments{"query": "greet"}
	read := func(target string) arguments { return arguments{"targets": []string{target}} }
	unindexed := func(t *testing.T, w *tooltest.World) {
		w.Write("/src/other", "a.go", "func A() {}\n")
		if _, err := w.Register(t.Context(), "/src/other", tool.Permit{Person: true}); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(_ *testing.T, w *tooltest.World) { w.Write(root, "greet.go", "func Farewell() {}\n") }
	stuck := func(t *testing.T, w *tooltest.World) {
		edit(t, w)
		w.NoCatchUp = true
	}
	other := arguments{"cwd": "", "codebase": "other"}
	synced := func(t *testing.T, w *tooltest.World) {
		edit(t, w)
		call(t, w, "sync", tool.ManageParams{Scope: scope(), Wait: true})
	}
	return []provocation{
		{tool.CodeNotIndexed, tool.ToolSearch, query.with(other), unindexed},
		{tool.CodeIndexing, tool.ToolSearch, query.with(other), func(t *testing.T, w *tooltest.World) {
			unindexed(t, w)
			w.Running = running
		}},
		{tool.CodeIndexFailed, tool.ToolSearch, query.with(other), func(t *testing.T, w *tooltest.World) {
			unindexed(t, w)
			w.Failing = "disk is full"
			call(t, w, "index", tool.ManageParams{Path: "/src/other", Wait: true})
			w.NoCatchUp = true
		}},
		{tool.CodeRequiresReindex, tool.ToolSearch, query, func(_ *testing.T, w *tooltest.World) {
			w.Requires = []store.FieldChange{{Label: "tokenizer", Old: "1", New: "2", Side: store.QuerySide}}
		}},
		{tool.CodeStaleTimeout, tool.ToolSearch, query.with(arguments{"freshness": "strict"}), stuck},
		{tool.CodeSourceChanged, tool.ToolSearch, query.with(arguments{"freshness": "strict"}), func(_ *testing.T, w *tooltest.World) {
			w.MidSearch = func(n int) { w.Write(root, "greet.go", strings.Repeat("// greet\n", n)) }
		}},
		{tool.CodeAmbiguousCodebase, tool.ToolSearch, query.with(arguments{"cwd": ""}), unindexed},
		{tool.CodeCodebaseNotFound, tool.ToolSearch, query.with(arguments{"codebase": "nope"}), nil},
		{tool.CodePathOutsideRoot, tool.ToolRead, read("../../etc/passwd"), nil},
		{tool.CodePathNotFound, tool.ToolRead, read("no/such.go"), nil},
		{tool.CodeTargetNotFound, tool.ToolRead, read("Nothing"), nil},
		{tool.CodeTargetAmbiguous, tool.ToolRead, read("Greet"), func(_ *testing.T, w *tooltest.World) {
			w.Write(root, "again.go", "func Greet() {}\n")
		}},
		{tool.CodeSnapshotNotFound, tool.ToolCompare, arguments{"from": 9}, nil},
		{tool.CodeSnapshotNotFound, tool.ToolSearch, query.with(arguments{"at": 9}), nil},
		{tool.CodeSnapshotExpired, tool.ToolCompare, arguments{"from": 1}, func(t *testing.T, w *tooltest.World) {
			synced(t, w)
			w.Forget("c1", 1)
		}},
		{tool.CodeBudgetTooSmall, tool.ToolSearch, query.with(arguments{"max_response_tokens": 10}), nil},
		{tool.CodeOperationInProgress, tool.ToolManage, arguments{"action": "reindex"}, func(_ *testing.T, w *tooltest.World) { w.Running = running }},
		{tool.CodeConfirmationRequired, tool.ToolManage, arguments{"action": "clear"}, nil},
		{tool.CodeEmbedderUnavailable, tool.ToolSearch, query.with(arguments{"mode": "semantic"}), func(_ *testing.T, w *tooltest.World) { w.Wordless = "model is gone" }},
		{tool.CodeStoreUnavailable, tool.ToolSearch, query, func(_ *testing.T, w *tooltest.World) { w.Down = store.ErrCorrupt }},
		{tool.CodeBusUnavailable, tool.ToolSearch, query.with(arguments{"freshness": "strict"}), func(_ *testing.T, w *tooltest.World) {
			w.Down = tool.Errorf(tool.CodeBusUnavailable, "no route to the log")
		}},
		{tool.CodePermissionDenied, tool.ToolRead, read(".git/config"), nil},
		{tool.CodeInternal, tool.ToolSearch, query, func(_ *testing.T, w *tooltest.World) { w.Down = errors.New("bug") }},
		{tool.CodeInvalidArgument, tool.ToolSearch, arguments{"query": " "}, nil},
		{tool.CodeInvalidArgument, tool.ToolSearch, query.with(arguments{"mode": "psychic"}), nil},
		{tool.CodeInvalidArgument, tool.ToolSearch, query.with(arguments{"verbosity": "chatty"}), nil},
		{tool.CodeInvalidArgument, tool.ToolSearch, query.with(arguments{"format": "xml"}), nil},
		{tool.CodeInvalidArgument, tool.ToolSearch, query.with(arguments{"max_response_tokens": 25_001}), nil},
		{tool.CodeInvalidArgument, tool.ToolSearch, query.with(arguments{"max_response_tokens": -1}), nil},
		{tool.CodeInvalidArgument, tool.ToolSearch, query.with(arguments{"session_id": "a b"}), nil},
		{tool.CodeInvalidArgument, tool.ToolSearch, query.with(arguments{"at": 1, "freshness": "strict"}), nil},
		{tool.CodeInvalidArgument, tool.ToolSearch, query.with(arguments{"cursor": "x"}), nil},
		{tool.CodeInvalidArgument, tool.ToolRead, arguments{"targets": []string{}}, nil},
		{tool.CodeInvalidArgument, tool.ToolRead, read("a\x00b"), nil},
		{tool.CodeInvalidArgument, tool.ToolRead, read("greet.go").with(arguments{"view": "sideways"}), nil},
		{tool.CodeInvalidArgument, tool.ToolList, arguments{"view": "sideways"}, nil},
		{tool.CodeInvalidArgument, tool.ToolList, arguments{"view": "why"}, nil},
		{tool.CodeInvalidArgument, tool.ToolCompare, arguments{"from": 1, "level": "byte"}, nil},
		{tool.CodeInvalidArgument, tool.ToolCompare, arguments{"from": 0}, nil},
		{tool.CodeInvalidArgument, tool.ToolManage, arguments{"action": "explode"}, nil},
		{tool.CodeInvalidArgument, tool.ToolManage, arguments{"action": "clear", "dry_run": true}, nil},
	}
}

// TestErrors provokes each code: the envelope says error, names the next call with
// arguments that the tool takes, and both renderings show code, message and call.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, p := range provocations() {
		given, err := json.Marshal(p.arguments)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(string(p.code)+string(given), func(t *testing.T) {
			t.Parallel()
			w := indexed(t)
			if p.change != nil {
				p.change(t, w)
			}
			e, text := use(t, w, p.tool, p.arguments)
			if e.Error == nil || e.Error.Code != p.code || e.Status != tool.StatusError {
				t.Fatalf("error %v, status %s; want %s", e.Error, e.Status, p.code)
			}
			checkSteps(t, e)
			if !strings.Contains(text, string(p.code)) && p.arguments["format"] == nil {
				t.Errorf("the text does not name the code:\n%s", text)
			}
			if _, traced := e.Error.Details["trace_id"]; traced != (p.code == tool.CodeInternal) {
				t.Errorf("details %v", e.Error.Details)
			}
		})
	}
}

// checkSteps holds every next step to a tool and to arguments that it takes.
func checkSteps(t *testing.T, e *tool.Envelope) {
	t.Helper()
	if len(e.NextSteps) == 0 {
		t.Errorf("%v has no next step", e.Error)
	}
	for _, step := range e.NextSteps {
		i := slices.IndexFunc(tool.Tools(), func(d tool.Tool) bool { return d.Name == step.Tool })
		if i < 0 {
			if step.Tool != tool.ToolCommandLine {
				t.Errorf("next step names %s", step.Tool)
			}
			continue
		}
		raw, err := json.Marshal(step.Arguments)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(tool.Tools()[i].NewParams()); err != nil {
			t.Errorf("%s does not take %s: %v", step.Tool, raw, err)
		}
	}
}

// TestEveryCodeIsProvoked keeps the table whole.
func TestEveryCodeIsProvoked(t *testing.T) {
	t.Parallel()
	elsewhere := []tool.Code{
		tool.CodeCursorExpired, tool.CodeCursorMismatch, // TestCursorIsBound
		tool.CodeInterrupted, // TestInterruptedCallSaysHowToResume
		tool.CodeBusy,        // of the transports
	}
	for _, code := range tool.Codes() {
		provoked := slices.ContainsFunc(provocations(), func(p provocation) bool { return p.code == code })
		if provoked == slices.Contains(elsewhere, code) {
			t.Errorf("%s: in the table %v, elsewhere %v", code, provoked, !provoked)
		}
	}
}

// TestReadsGoOnWithoutTheLog: a search answers from what is sealed and says that freshness
// is unknown.
func TestReadsGoOnWithoutTheLog(t *testing.T) {
	t.Parallel()
	w := indexed(t)
	w.Down = tool.Errorf(tool.CodeBusUnavailable, "no route to the log")
	e, text := use(t, w, tool.ToolSearch, arguments{"query": "greet"})
	if e.Error != nil || len(e.Results) == 0 || e.Freshness.State != search.Unknown || e.Status != tool.StatusPartial {
		t.Errorf("error %v, %d results, %s, %s", e.Error, len(e.Results), e.Freshness.State, e.Status)
	}
	if !strings.Contains(text, "bus_unavailable") || !strings.Contains(text, "freshness: unknown") {
		t.Errorf("the text does not say so:\n%s", text)
	}
}

// TestHybridFallsBackToWords: without an embedder a hybrid search answers with a warning.
func TestHybridFallsBackToWords(t *testing.T) {
	t.Parallel()
	w := indexed(t)
	w.Wordless = "model is gone"
	e, _ := use(t, w, tool.ToolSearch, arguments{"query": "greet"})
	warned := slices.ContainsFunc(e.Warnings, func(w search.Warning) bool { return w.Code == "embedder_unavailable" })
	if e.Error != nil || len(e.Results) == 0 || !warned {
		t.Errorf("error %v, %d results, warnings %v", e.Error, len(e.Results), e.Warnings)
	}
}
