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
	// wordy says that no call leads out: the text says what to do.
	wordy bool
	// heal is what the text asks a person to do before a next step is made, nil for nothing.
	heal func(w *tooltest.World)
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
	return append([]provocation{
		{code: tool.CodeNotIndexed, tool: tool.ToolSearch, arguments: query.with(other), change: unindexed},
		{code: tool.CodeIndexing, tool: tool.ToolSearch, arguments: query.with(other), change: func(t *testing.T, w *tooltest.World) {
			unindexed(t, w)
			w.Running = running
		}},
		{code: tool.CodeIndexFailed, tool: tool.ToolSearch, arguments: query.with(other), change: func(t *testing.T, w *tooltest.World) {
			unindexed(t, w)
			w.Failing = "disk is full"
			call(t, w, "index", tool.ManageParams{Path: "/src/other", Wait: true})
			w.NoCatchUp = true
		}, heal: healed},
		{code: tool.CodeRequiresReindex, tool: tool.ToolSearch, arguments: query, change: func(_ *testing.T, w *tooltest.World) {
			w.Requires = []store.FieldChange{{Label: "tokenizer", Old: "1", New: "2", Side: store.QuerySide}}
		}},
		{code: tool.CodeStaleTimeout, tool: tool.ToolSearch, arguments: query.with(arguments{"freshness": "strict"}), change: stuck},
		{code: tool.CodeSourceChanged, tool: tool.ToolSearch, arguments: query.with(arguments{"freshness": "strict"}), change: func(_ *testing.T, w *tooltest.World) {
			w.MidSearch = func(n int) { w.Write(root, "greet.go", strings.Repeat("// greet\n", n)) }
		}, heal: func(w *tooltest.World) { w.MidSearch = nil }},
		{code: tool.CodeAmbiguousCodebase, tool: tool.ToolSearch, arguments: query.with(arguments{"cwd": ""}), change: unindexed},
		{code: tool.CodeCodebaseNotFound, tool: tool.ToolSearch, arguments: query.with(arguments{"codebase": "nope"})},
		{code: tool.CodePathOutsideRoot, tool: tool.ToolRead, arguments: read("../../etc/passwd")},
		{code: tool.CodePathNotFound, tool: tool.ToolRead, arguments: read("no/such.go")},
		{code: tool.CodeTargetNotFound, tool: tool.ToolRead, arguments: read("Nothing")},
		{code: tool.CodeTargetAmbiguous, tool: tool.ToolRead, arguments: read("Greet"), change: func(_ *testing.T, w *tooltest.World) {
			w.Write(root, "again.go", "func Greet() {}\n")
		}},
		{code: tool.CodeSnapshotNotFound, tool: tool.ToolCompare, arguments: arguments{"from": 9}},
		{code: tool.CodeSnapshotNotFound, tool: tool.ToolSearch, arguments: query.with(arguments{"at": 9})},
		{code: tool.CodeSnapshotExpired, tool: tool.ToolCompare, arguments: arguments{"from": 1}, change: func(t *testing.T, w *tooltest.World) {
			synced(t, w)
			w.Forget("c1", 1)
		}},
		{code: tool.CodeBudgetTooSmall, tool: tool.ToolSearch, arguments: query.with(arguments{"max_response_tokens": 10})},
		{code: tool.CodeOperationInProgress, tool: tool.ToolManage, arguments: arguments{"action": "reindex"}, change: func(_ *testing.T, w *tooltest.World) { w.Running = running }},
		{code: tool.CodeConfirmationRequired, tool: tool.ToolManage, arguments: arguments{"action": "clear"}},
		{code: tool.CodeEmbedderUnavailable, tool: tool.ToolSearch, arguments: query.with(arguments{"mode": "semantic"}), change: func(_ *testing.T, w *tooltest.World) { w.Wordless = "model is gone" }},
		{code: tool.CodeStoreUnavailable, tool: tool.ToolSearch, arguments: query, change: func(_ *testing.T, w *tooltest.World) { w.Down = store.ErrCorrupt }},
		{code: tool.CodeBusUnavailable, tool: tool.ToolSearch, arguments: query.with(arguments{"freshness": "strict"}), change: func(_ *testing.T, w *tooltest.World) {
			w.Down = tool.Errorf(tool.CodeBusUnavailable, "no route to the log")
		}},
		{code: tool.CodePermissionDenied, tool: tool.ToolRead, arguments: read(".git/config"), change: func(_ *testing.T, w *tooltest.World) { w.Write(root, ".git/config", "[core]\n") }},
		{code: tool.CodeInternal, tool: tool.ToolSearch, arguments: query, change: func(_ *testing.T, w *tooltest.World) { w.Down = errors.New("bug") }},
		{code: tool.CodeInvalidArgument, tool: tool.ToolSearch, arguments: arguments{"query": " "}, wordy: true},
		{code: tool.CodeInvalidArgument, tool: tool.ToolSearch, arguments: query.with(arguments{"mode": "psychic"})},
		{code: tool.CodeInvalidArgument, tool: tool.ToolSearch, arguments: query.with(arguments{"verbosity": "chatty"})},
		{code: tool.CodeInvalidArgument, tool: tool.ToolSearch, arguments: query.with(arguments{"format": "xml"})},
		{code: tool.CodeInvalidArgument, tool: tool.ToolSearch, arguments: query.with(arguments{"max_response_tokens": 25_001})},
		{code: tool.CodeInvalidArgument, tool: tool.ToolSearch, arguments: query.with(arguments{"max_response_tokens": -1})},
		{code: tool.CodeInvalidArgument, tool: tool.ToolSearch, arguments: query.with(arguments{"session_id": "a b"})},
		{code: tool.CodeInvalidArgument, tool: tool.ToolSearch, arguments: query.with(arguments{"at": 1, "freshness": "strict"})},
		{code: tool.CodeInvalidArgument, tool: tool.ToolSearch, arguments: query.with(arguments{"cursor": "x"})},
		{code: tool.CodeInvalidArgument, tool: tool.ToolRead, arguments: arguments{"targets": []string{}}, wordy: true},
		{code: tool.CodeInvalidArgument, tool: tool.ToolRead, arguments: read("a\x00b")},
		{code: tool.CodeInvalidArgument, tool: tool.ToolRead, arguments: read("greet.go").with(arguments{"view": "sideways"})},
		{code: tool.CodeInvalidArgument, tool: tool.ToolList, arguments: arguments{"view": "sideways"}},
		{code: tool.CodeInvalidArgument, tool: tool.ToolList, arguments: arguments{"view": "why"}, wordy: true},
		{code: tool.CodeInvalidArgument, tool: tool.ToolCompare, arguments: arguments{"from": 1, "level": "byte"}},
		{code: tool.CodeInvalidArgument, tool: tool.ToolCompare, arguments: arguments{"from": 0}},
		{code: tool.CodeInvalidArgument, tool: tool.ToolManage, arguments: arguments{"action": "explode"}, wordy: true},
		{code: tool.CodeInvalidArgument, tool: tool.ToolManage, arguments: arguments{"action": "clear", "dry_run": true}},
	}, invalid()...)
}

// invalid are more ways to be wrong about an argument.
func invalid() []provocation {
	query, other := arguments{"query": "greet"}, "/src/other"
	disk := func(_ *testing.T, w *tooltest.World) { w.Write(other, "a.go", "func A() {}\n") }
	bad := func(name string, a arguments) provocation {
		return provocation{code: tool.CodeInvalidArgument, tool: name, arguments: a}
	}
	directory := bad(tool.ToolManage, arguments{"action": "create", "path": "other", "client_roots": []string{other}})
	directory.change = disk
	outside := provocation{code: tool.CodeCodebaseNotFound, tool: tool.ToolSearch, arguments: query.with(arguments{"cwd": "/"})}
	client := provocation{code: tool.CodeCodebaseNotFound, tool: tool.ToolSearch, change: disk,
		arguments: query.with(arguments{"cwd": "/", "client_roots": []string{root, other}})}
	none := bad(tool.ToolManage, arguments{})
	none.wordy = true
	list := bad(tool.ToolSearch, arguments{"query": []string{"greet", "again"}})
	list.wordy = true
	return []provocation{
		bad(tool.ToolSearch, query.with(arguments{"languages": []string{"Go"}})),
		bad(tool.ToolSearch, query.with(arguments{"paths": "greet.go"})),
		bad(tool.ToolSearch, query.with(arguments{"limit": "5"})),
		bad(tool.ToolSearch, query.with(arguments{"explain": "yes"})),
		bad(tool.ToolSearch, query.with(arguments{"at": -1})),
		bad(tool.ToolSearch, query.with(arguments{"limit": 1000})),
		bad(tool.ToolSearch, query.with(arguments{"context_lines": 1000})),
		bad(tool.ToolSearch, query.with(arguments{"mode": "regx"})),
		bad(tool.ToolSearch, query.with(arguments{"freshness": "fresh"})),
		bad(tool.ToolSearch, query.with(arguments{"max_wait_ms": -1})),
		bad(tool.ToolSearch, query.with(arguments{"min_token": "x"})),
		bad(tool.ToolSearch, query.with(arguments{"codebase": strings.Repeat("x", 5000)})),
		bad(tool.ToolSearch, arguments{"query": []string{"greet"}}),
		list,
		bad(tool.ToolRead, arguments{"targets": "greet.go"}),
		bad(tool.ToolList, arguments{"wait_ms": 100_000}),
		bad(tool.ToolList, arguments{"view": "stat"}),
		bad(tool.ToolCompare, arguments{"from": "1"}),
		bad(tool.ToolManage, arguments{"action": "sync", "path": root}),
		bad(tool.ToolManage, arguments{"action": "sync", "path": "/nowhere"}),
		bad(tool.ToolManage, arguments{"action": "synk"}),
		none, directory, outside, client,
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
			checkSteps(t, e, p.wordy)
			if !strings.Contains(text, string(p.code)) && p.arguments["format"] == nil {
				t.Errorf("the text does not name the code:\n%s", text)
			}
			if _, traced := e.Error.Details["trace_id"]; traced != (p.code == tool.CodeInternal) {
				t.Errorf("details %v", e.Error.Details)
			}
		})
	}
}

// checkSteps holds every next step to a tool and to arguments that it takes. TestEveryStepLeadsOut
// makes them.
func checkSteps(t *testing.T, e *tool.Envelope, wordy bool) {
	t.Helper()
	if (len(e.NextSteps) == 0) != wordy {
		t.Errorf("%v has %d next steps, none wanted: %v", e.Error, len(e.NextSteps), wordy)
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
