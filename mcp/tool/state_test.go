package tool_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// event is something that happens to a codebase.
type event struct {
	name   string
	happen func(t *testing.T, w *tooltest.World)
}

func events() map[string]event {
	running := &tool.Operation{ID: "op-c1", Kind: tool.OperationIndex, Phase: tool.PhaseChunking}
	chunker := []store.FieldChange{{Label: "chunker", Old: "1", New: "2", Side: store.IndexSide}}
	operate := func(verb string) func(t *testing.T, w *tooltest.World) {
		return func(t *testing.T, w *tooltest.World) {
			p := tool.ManageParams{Scope: scope(), Wait: true}
			if verb == "index" {
				p = tool.ManageParams{Path: root, Wait: true}
			}
			call(t, w, verb, p) // some fail, as they are meant to
		}
	}
	list := []event{
		{"registered", func(t *testing.T, w *tooltest.World) {
			if _, err := w.Register(t.Context(), root, tool.Permit{Person: true}); err != nil {
				t.Fatal(err)
			}
		}},
		{"begun", func(_ *testing.T, w *tooltest.World) { w.Running = running }},
		{"ended", func(_ *testing.T, w *tooltest.World) { w.Running = nil }},
		{"indexed", operate("index")},
		{"synced", operate("sync")},
		{"reindexed", operate("reindex")},
		{"edited", func(_ *testing.T, w *tooltest.World) { w.Write(root, "new.go", "func New() {}\n") }},
		{"breaks", func(_ *testing.T, w *tooltest.World) { w.Failing, w.NoCatchUp = "disk is full", true }},
		{"mended", func(_ *testing.T, w *tooltest.World) { w.Failing, w.NoCatchUp = "", false }},
		{"upgraded", func(_ *testing.T, w *tooltest.World) { w.Requires = chunker }},
		{"downgraded", func(_ *testing.T, w *tooltest.World) { w.Requires = nil }},
		{"cleared", func(t *testing.T, w *tooltest.World) {
			if e := call(t, w, "clear", tool.ClearParams{Scope: scope(), Confirm: "c1"}); e.Error != nil {
				t.Fatal(e.Error)
			}
		}},
	}
	named := map[string]event{}
	for _, e := range list {
		named[e.name] = e
	}
	return named
}

// TestStates walks histories of events and holds the state, the operation and the
// freshness after each: three fields that move on their own.
func TestStates(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		events string
		state  tool.State
		// runs and fresh are the other two fields after the last event.
		runs  bool
		fresh search.Freshness
	}{
		{"nothing", "", tool.StateNotFound, false, search.Unknown},
		{"registered only", "registered", tool.StateNotFound, false, search.Behind},
		{"first index runs", "registered begun", tool.StateIndexing, true, search.Behind},
		{"first index was cancelled", "registered begun ended", tool.StateNotFound, false, search.Behind},
		{"first index failed", "registered breaks indexed", tool.StateIndexFailed, false, search.Behind},
		{"first index failed and runs again", "registered breaks indexed mended begun", tool.StateIndexing, true, search.Behind},
		{"first index succeeded", "indexed", tool.StateIndexed, false, search.Current},
		{"indexed after a failure", "registered breaks indexed mended indexed", tool.StateIndexed, false, search.Current},
		{"an edit that was not looked for", "indexed edited", tool.StateIndexed, false, search.Behind},
		{"an edit, synced", "indexed edited synced", tool.StateSyncCompleted, false, search.Current},
		{"a sync runs", "indexed edited begun", tool.StateIndexed, true, search.Behind},
		{"a sync failed", "indexed edited breaks synced", tool.StateIndexFailed, false, search.Behind},
		{"a sync failed and the next did not", "indexed edited breaks synced mended synced", tool.StateSyncCompleted, false, search.Current},
		{"a sync without a change", "indexed synced", tool.StateIndexed, false, search.Current},
		{"rebuilt", "indexed reindexed", tool.StateSyncCompleted, false, search.Current},
		{"another recipe", "indexed upgraded", tool.StateRequiresReindex, false, search.Current},
		{"another recipe, filling", "indexed upgraded begun", tool.StateRequiresReindex, true, search.Current},
		{"another recipe after a sync", "indexed edited synced upgraded", tool.StateRequiresReindex, false, search.Current},
		{"another recipe, rebuilt", "indexed upgraded reindexed downgraded", tool.StateSyncCompleted, false, search.Current},
		{"the first recipe again", "indexed upgraded downgraded", tool.StateIndexed, false, search.Current},
		{"a rebuild failed", "indexed upgraded breaks reindexed", tool.StateIndexFailed, false, search.Current},
		{"cleared", "indexed cleared", tool.StateNotFound, false, search.Unknown},
		{"cleared and indexed again", "indexed cleared indexed", tool.StateIndexed, false, search.Current},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := tooltest.New()
			w.Write(root, "a.go", "func A() {}\n")
			all := events()
			for name := range strings.FieldsSeq(test.events) {
				all[name].happen(t, w)
			}
			e, _ := use(t, w, tool.ToolList, arguments{"view": "state"})
			got := []any{e.State, e.Operation != nil, e.Freshness.State}
			if e.Codebases != nil {
				one := (*e.Codebases)[0]
				got = []any{one.State, one.Operation != nil, one.Freshness.State}
			}
			if diff := cmp.Diff([]any{test.state, test.runs, test.fresh}, got); diff != "" {
				t.Errorf("state, operation, freshness (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneRecipeFieldAtATime changes each field of a recipe alone: every read of the index
// says requires_reindex with the old and the new value, refused or served as its side
// demands, and files are read from the disk in any case.
func TestOneRecipeFieldAtATime(t *testing.T) {
	t.Parallel()
	was := store.Recipe{
		Schema: 1, Tokenizer: "t1", Chunker: "c1", IgnoreRules: "i1", Grammars: map[string]string{"Go": "g1"},
		Embedding: store.EmbeddingRecipe{Provider: "p1", Model: "m1", Artifact: "a1", Dimension: 4, Normalization: "l2"},
	}
	for _, field := range was.Fields() {
		t.Run(field.Label, func(t *testing.T) {
			t.Parallel()
			w := indexed(t)
			change := store.FieldChange{Label: field.Label, Old: field.Value, New: field.Value + "'", Side: field.Side}
			w.Requires, w.CannotEmbed = []store.FieldChange{change}, true
			said := change.Label + ": " + change.Old + " -> " + change.New
			reads := []struct {
				tool      string
				arguments arguments
				refused   bool
			}{
				{tool.ToolSearch, arguments{"query": "greet"}, field.Side == store.QuerySide},
				{tool.ToolList, arguments{"view": "state"}, false},
				{tool.ToolList, arguments{"view": "fingerprint"}, false},
				{tool.ToolList, arguments{"view": "health"}, false},
				{tool.ToolList, arguments{"view": "overview"}, field.Side == store.QuerySide && !strings.HasPrefix(field.Label, "embedding.")},
				{tool.ToolCompare, arguments{"from": 1}, false},
			}
			for _, read := range reads {
				e, text := use(t, w, read.tool, read.arguments)
				refused := e.Error != nil && e.Error.Code == tool.CodeRequiresReindex
				if refused != read.refused || e.Error != nil && !refused {
					t.Errorf("%s %v: error %v, want it refused: %v", read.tool, read.arguments, e.Error, read.refused)
				}
				if !strings.Contains(text, "requires_reindex") || !strings.Contains(text, said) {
					t.Errorf("%s %v does not say requires_reindex with %q:\n%s", read.tool, read.arguments, said, text)
				}
				if e.State != tool.StateRequiresReindex && (e.Codebases == nil || (*e.Codebases)[0].State != tool.StateRequiresReindex) {
					t.Errorf("%s %v: state %s", read.tool, read.arguments, e.State)
				}
			}
			e, _ := use(t, w, tool.ToolRead, arguments{"targets": []string{"greet.go"}})
			if e.Error != nil || len(e.Results) != 1 || !strings.Contains(e.Results[0].Content, "func Greet") {
				t.Errorf("read_code: error %v, %d results", e.Error, len(e.Results))
			}
		})
	}
}

// TestNoFingerprintIsRefused: nothing is known of how such a snapshot was made; the files
// themselves are read all the same.
func TestNoFingerprintIsRefused(t *testing.T) {
	t.Parallel()
	w := tooltest.New()
	w.NoFingerprint = true
	w.Write(root, "a.go", "func A() {}\n")
	call(t, w, "index", tool.ManageParams{Path: root, Wait: true})
	e, _ := use(t, w, tool.ToolSearch, arguments{"query": "func"})
	if e.Error == nil || e.Error.Code != tool.CodeRequiresReindex {
		t.Errorf("search: %v, want requires_reindex", e.Error)
	}
	if e, _ = use(t, w, tool.ToolRead, arguments{"targets": []string{"a.go"}}); e.Error != nil || len(e.Results) != 1 {
		t.Errorf("read: %v", e.Error)
	}
}
