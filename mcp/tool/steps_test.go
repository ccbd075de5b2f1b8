package tool_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
	"github.com/freshet/freshet/store"
)

// state is a call in a world that has it offer next steps.
type state struct {
	name      string
	tool      string
	arguments arguments
	change    func(t *testing.T, w *tooltest.World)
	// heal is what the text asks a person to do before the step is made, nil for nothing.
	heal func(w *tooltest.World)
	// wants is the least number of steps.
	wants int
}

// world is one in the state.
func (s state) world(t *testing.T) *tooltest.World {
	w := indexed(t)
	if s.change != nil {
		s.change(t, w)
	}
	return w
}

// TestEveryStepLeadsOut makes each next step of each state word for word in that state: it is
// a call that is taken, it is not the failing call again, and its answer has no error. A step
// that changes the index also ends the error that offered it. The one error that a step may
// give is the question whether the index is to be removed.
func TestEveryStepLeadsOut(t *testing.T) {
	t.Parallel()
	for _, s := range states() {
		given, err := json.Marshal(s.arguments)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(s.name+" "+string(given), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, _ := use(t, s.world(t), s.tool, s.arguments)
				if len(e.NextSteps) < s.wants {
					t.Fatalf("%d next steps, want %d: error %v, warnings %v", len(e.NextSteps), s.wants, e.Error, e.Warnings)
				}
				for i := range e.NextSteps {
					s.follow(t, i)
				}
			})
		})
	}
}

// follow makes the step of a number in a world of its own.
func (s state) follow(t *testing.T, number int) {
	t.Helper()
	w := s.world(t)
	failed, _ := use(t, w, s.tool, s.arguments)
	step := failed.NextSteps[number]
	shown := compactJSON(t, step.Arguments)
	if step.Tool == s.tool && shown == compactJSON(t, map[string]any(s.arguments)) {
		t.Errorf("the step is the same call again: %s %s", step.Tool, shown)
	}
	if strings.TrimSpace(step.Why) == "" {
		t.Errorf("%s %s does not say what for", step.Tool, shown)
	}
	if s.heal != nil {
		s.heal(w)
	}
	outcome := s.run(t, w, step)
	switch {
	case outcome == nil:
		return
	case outcome.Error != nil && outcome.Error.Code != tool.CodeConfirmationRequired:
		t.Fatalf("the step %s %s gives %v", step.Tool, shown, outcome.Error)
	}
	if failed.Error == nil || step.Tool != tool.ToolManage {
		return
	}
	for _, next := range outcome.NextSteps { // waits for the operation, where there is one
		if next.Tool == tool.ToolList {
			s.run(t, w, next)
		}
	}
	asked := s.arguments
	if failed.Error.Code == tool.CodeCodebaseNotFound { // the step says which codebase there is now
		asked = asked.with(arguments{"codebase": string(outcome.Codebase.ID)})
	}
	again, _ := use(t, w, s.tool, asked)
	if again.Error != nil && again.Error.Code == failed.Error.Code && failed.Error.Code != tool.CodeInvalidArgument {
		t.Errorf("after the step %s %s the call still gives %v", step.Tool, shown, again.Error)
	}
}

// run makes a step. Commands are made where a verb of Dispatch answers them; those of the
// operating system, and those of which the command line alone knows, give nil: cmd/cli
// checks them.
func (s state) run(t *testing.T, w *tooltest.World, step tool.NextStep) *tool.Envelope {
	t.Helper()
	if step.Tool != tool.ToolCommandLine {
		given := arguments(step.Arguments)
		if cwd, ok := s.arguments["cwd"]; ok {
			given = given.with(arguments{"cwd": cwd})
		}
		e, _ := use(t, w, step.Tool, given)
		return e
	}
	line, _ := step.Arguments["command"].(string)
	fields := strings.Fields(line)
	if len(fields) < 2 || fields[0] != "freshet" || !slices.Contains(tool.Verbs(), fields[1]) {
		return nil
	}
	params := map[string]any{"cwd": root}
	for _, field := range fields[2:] {
		switch {
		case field == "--repair":
			params["repair"], w.Down = true, nil // the host makes the store anew: TestDamageWalk of cmd/host
		case !strings.HasPrefix(field, "-"):
			params["codebase"] = field
		default:
			t.Fatalf("the test does not know %s of %s", field, line)
		}
	}
	if fields[1] == "gc" {
		clear(params)
	}
	raw, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Dispatch(t.Context(), w.Backend(), fields[1], raw, nil)
}

func compactJSON(t *testing.T, value any) string {
	t.Helper()
	if given, ok := value.(map[string]any); ok {
		given = maps.Clone(given)
		delete(given, "cwd")
		value = given
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// states are the errors, and the answers that warn or are less than current.
func states() []state {
	var all []state
	for _, p := range provocations() {
		wants := 1
		if p.wordy {
			wants = 0
		}
		all = append(all, state{string(p.code), p.tool, p.arguments, p.change, p.heal, wants})
	}
	query := arguments{"query": "greet"}
	behind := func(_ *testing.T, w *tooltest.World) {
		w.Write(root, "greet.go", "func Farewell() {}\n")
		w.NoCatchUp = true
	}
	kept := func(_ *testing.T, w *tooltest.World) { w.Kept = []string{"greet.go"} }
	return append(all, []state{
		{name: "behind", tool: tool.ToolSearch, arguments: query, change: behind, wants: 1},
		{name: "behind, waited for already", tool: tool.ToolSearch, arguments: query.with(arguments{"max_wait_ms": 30000}), change: behind},
		{name: "kept", tool: tool.ToolSearch, arguments: query, change: kept, wants: 1},
		{name: "why of what is kept", tool: tool.ToolList, arguments: arguments{"view": "why", "path": "greet.go"}, change: kept, wants: 1},
		{name: "no hits with filters", tool: tool.ToolSearch, arguments: query.with(arguments{"paths": []string{"none/**"}}), wants: 1},
		{name: "no hits in a mode", tool: tool.ToolSearch, arguments: arguments{"query": "zzz", "mode": "text"}, wants: 1},
		{name: "damaged hits", tool: tool.ToolSearch, arguments: query, wants: 1, change: func(_ *testing.T, w *tooltest.World) { w.Damaged = []string{"greet.go"} }},
		{name: "unread by a regular expression", tool: tool.ToolSearch, arguments: query.with(arguments{"mode": "regex"}), wants: 1, change: func(_ *testing.T, w *tooltest.World) { w.Unread = 1 }},
		{name: "another recipe, state", tool: tool.ToolList, arguments: arguments{"view": "state"}, wants: 1, change: otherRecipe},
		{name: "another recipe, fingerprint", tool: tool.ToolList, arguments: arguments{"view": "fingerprint"}, wants: 1, change: otherRecipe},
		{name: "another recipe, compared", tool: tool.ToolCompare, arguments: arguments{"from": 1}, wants: 1, change: otherRecipe},
		{name: "nothing registered", tool: tool.ToolList, arguments: arguments{"cwd": "/src/new"}, wants: 1, change: func(t *testing.T, w *tooltest.World) { only(t, w, "/src/new") }},
		{name: "nothing registered, nothing to register", tool: tool.ToolList, arguments: arguments{"cwd": "/"}, change: func(t *testing.T, w *tooltest.World) { only(t, w, "/src/new") }},
		{name: "plan", tool: tool.ToolManage, arguments: arguments{"action": "sync", "dry_run": true}, wants: 1},
		{name: "plan of a directory", tool: tool.ToolManage, arguments: arguments{"action": "create", "path": root, "dry_run": true}, wants: 1},
		{name: "started", tool: tool.ToolManage, arguments: arguments{"action": "reindex"}, wants: 1},
		{name: "cancelled", tool: tool.ToolManage, arguments: arguments{"action": "cancel"}, wants: 1, change: func(_ *testing.T, w *tooltest.World) {
			w.Running = &tool.Operation{ID: "op", Kind: tool.OperationSync, Phase: tool.PhaseChunking}
		}},
		{name: "progress", tool: tool.ToolList, arguments: arguments{"view": "progress"}, wants: 1, change: func(_ *testing.T, w *tooltest.World) {
			w.Running = &tool.Operation{ID: "op", Kind: tool.OperationSync, Phase: tool.PhaseChunking}
		}},
		{name: "progress of what failed", tool: tool.ToolList, arguments: arguments{"view": "progress"}, wants: 1, change: failed, heal: healed},
		{name: "health of what failed", tool: tool.ToolList, arguments: arguments{"view": "health"}, wants: 1, change: failed, heal: healed},
		{name: "long read", tool: tool.ToolRead, arguments: arguments{"targets": []string{"long.go"}, "max_response_tokens": 300}, wants: 1, change: func(_ *testing.T, w *tooltest.World) {
			w.Write(root, "long.go", strings.Repeat("// a line of a long file\n", 2000))
		}},
		{name: "one bad target of two", tool: tool.ToolRead, arguments: arguments{"targets": []string{"greet.go", "gret.go"}}, wants: 1},
	}...)
}

func otherRecipe(_ *testing.T, w *tooltest.World) {
	w.Requires = []store.FieldChange{{Label: "chunker", Old: "1", New: "2", Side: store.IndexSide}}
}

func failed(t *testing.T, w *tooltest.World) {
	w.Failing = "disk is full"
	call(t, w, "reindex", tool.ManageParams{Scope: scope(), Wait: true})
}

func healed(w *tooltest.World) { w.Failing = "" }

// only leaves the world one directory, which no codebase has.
func only(t *testing.T, w *tooltest.World, dir string) {
	w.Write(dir, "a.go", "func A() {}\n")
	if err := w.Clear(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
}
