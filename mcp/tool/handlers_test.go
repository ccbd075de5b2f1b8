package tool_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/mcp/tool/tooltest"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

const root = "/src/web"

// indexed is a world with one codebase of two files that is sealed.
func indexed(t *testing.T) *tooltest.World {
	t.Helper()
	w := tooltest.New()
	w.Write(root, "greet.go", "package greet\n\nfunc Greet() {}\n")
	w.Write(root, "read.md", "# Greeting\n\nhow to greet\n")
	if e := call(t, w, "index", tool.ManageParams{Path: root, Wait: true}); e.Error != nil {
		t.Fatal(e.Error)
	}
	return w
}

func call(t *testing.T, w *tooltest.World, verb string, params any) *tool.Envelope {
	t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Dispatch(t.Context(), w.Backend(), verb, raw, nil)
}

func scope() tool.Scope { return tool.Scope{CWD: root} }

func paths(e *tool.Envelope) []string {
	var out []string
	for _, hit := range e.Results {
		if !slices.Contains(out, hit.FilePath) {
			out = append(out, hit.FilePath)
		}
	}
	return out
}

func TestSearchSaysHowFreshItIs(t *testing.T) {
	t.Parallel()
	edit := func(w *tooltest.World) { w.Write(root, "greet.go", "func Farewell() {}\n") }
	embedding := []store.FieldChange{{Label: "embedding.model", Old: "a", New: "b", Side: store.QuerySide}}
	tokenizer := []store.FieldChange{{Label: "tokenizer", Old: "1", New: "2", Side: store.QuerySide}}
	chunker := []store.FieldChange{{Label: "chunker", Old: "1", New: "2", Side: store.IndexSide}}
	running := &tool.Operation{ID: "op", Kind: tool.OperationIndex, Phase: tool.PhaseChunking}
	cases := []struct {
		name      string
		change    func(w *tooltest.World)
		mode      string
		freshness tool.Mode
		status    tool.Status
		state     search.Freshness
		code      tool.Code
		exit      int
		serving   tool.State
	}{
		{name: "nothing changed", status: tool.StatusOK, state: search.Current, serving: tool.StateIndexed},
		{name: "an edit is caught up with", change: edit, status: tool.StatusOK, state: search.CaughtUp, serving: tool.StateSyncCompleted},
		{name: "an edit that is not sealed in time is behind", change: func(w *tooltest.World) { edit(w); w.NoCatchUp = true },
			status: tool.StatusPartial, state: search.Behind, serving: tool.StateIndexed},
		{name: "strict refuses to be behind", change: func(w *tooltest.World) { edit(w); w.NoCatchUp = true }, freshness: tool.ModeStrict,
			status: tool.StatusError, state: search.Behind, code: tool.CodeStaleTimeout, exit: 4, serving: tool.StateIndexed},
		{name: "strict refuses what is not proven", change: func(w *tooltest.World) { w.Unprovable = "root vanished" }, freshness: tool.ModeStrict,
			status: tool.StatusError, state: search.Unknown, code: tool.CodeStaleTimeout, exit: 4, serving: tool.StateIndexed},
		{name: "verified labels what is not proven", change: func(w *tooltest.World) { w.Unprovable = "root vanished" },
			status: tool.StatusPartial, state: search.Unknown, serving: tool.StateIndexed},
		{name: "eventual does not look", change: edit, freshness: tool.ModeEventual,
			status: tool.StatusOK, state: search.Unchecked, serving: tool.StateIndexed},
		{name: "the text level is partial", change: func(w *tooltest.World) { edit(w); w.TextOnly = true },
			status: tool.StatusPartial, state: search.CaughtUp, serving: tool.StateSyncCompleted},
		{name: "no fingerprint is refused", change: func(w *tooltest.World) { edit(w); w.NoFingerprint = true },
			status: tool.StatusError, state: search.CaughtUp, code: tool.CodeRequiresReindex, exit: 3, serving: tool.StateSyncCompleted},
		{name: "another embedding refuses hybrid", change: func(w *tooltest.World) { w.Requires, w.CannotEmbed = embedding, true },
			status: tool.StatusError, state: search.Current, code: tool.CodeRequiresReindex, exit: 3, serving: tool.StateRequiresReindex},
		{name: "another embedding serves text by name", mode: "text", change: func(w *tooltest.World) { w.Requires, w.CannotEmbed = embedding, true },
			status: tool.StatusPartial, state: search.Current, serving: tool.StateRequiresReindex},
		{name: "another embedding serves while the old model is reachable", change: func(w *tooltest.World) { w.Requires = embedding },
			status: tool.StatusPartial, state: search.Current, serving: tool.StateRequiresReindex},
		{name: "another tokenizer refuses text too", mode: "text", change: func(w *tooltest.World) { w.Requires = tokenizer },
			status: tool.StatusError, state: search.Current, code: tool.CodeRequiresReindex, exit: 3, serving: tool.StateRequiresReindex},
		{name: "another chunker serves with a label", change: func(w *tooltest.World) { w.Requires = chunker },
			status: tool.StatusPartial, state: search.Current, serving: tool.StateRequiresReindex},
		{name: "what runs does not stop reads", change: func(w *tooltest.World) { w.Running = running },
			status: tool.StatusOK, state: search.Current, serving: tool.StateIndexed},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := indexed(t)
			if test.change != nil {
				test.change(w)
			}
			e := call(t, w, "search", tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Demand: tool.Demand{Freshness: test.freshness}, Query: "greet func", Mode: test.mode}})
			var code tool.Code
			if e.Error != nil {
				code = e.Error.Code
				if len(e.NextSteps) == 0 {
					t.Errorf("error %v without a next step", e.Error)
				}
			}
			got := []any{e.Status, e.Freshness.State, code, e.ExitCode(), e.State}
			want := []any{test.status, test.state, test.code, test.exit, test.serving}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("status, freshness, code, exit, state (-want +got):\n%s", diff)
			}
			if (code == "") != (len(e.Results) > 0) {
				t.Errorf("%d results with error %q", len(e.Results), code)
			}
		})
	}
}

// TestRefusalAgreesWithTheGate holds the handler's decision to the one of package search.
func TestRefusalAgreesWithTheGate(t *testing.T) {
	t.Parallel()
	indexedBy := store.Recipe{Schema: 1, Tokenizer: "1", Chunker: "1", IgnoreRules: "1", Grammars: map[string]string{"Go": "1"}}
	changes := map[string]func(r *store.Recipe){
		"schema":    func(r *store.Recipe) { r.Schema++ },
		"tokenizer": func(r *store.Recipe) { r.Tokenizer = "2" },
		"model":     func(r *store.Recipe) { r.Embedding.Model = "2" },
		"chunker":   func(r *store.Recipe) { r.Chunker = "2" },
		"ignore":    func(r *store.Recipe) { r.IgnoreRules = "2" },
		"grammar":   func(r *store.Recipe) { r.Grammars = map[string]string{"Go": "2"} },
		"both":      func(r *store.Recipe) { r.Embedding.Model, r.Chunker = "2", "2" },
	}
	for name, change := range changes {
		for _, mode := range search.Modes() {
			t.Run(name+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				now := indexedBy
				change(&now)
				w := indexed(t)
				w.Requires, w.CannotEmbed = indexedBy.Diff(now), true
				e := call(t, w, "search", tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Query: "Greet", Mode: string(mode)}})
				served := e.Error == nil
				if want := search.JudgeFields(indexedBy.Diff(now), mode).Serve; served != want {
					t.Errorf("served %v, the gate says %v", served, want)
				}
			})
		}
	}
}

func TestHitsAreComparedWithTheDisk(t *testing.T) {
	t.Parallel()
	touch := func(w *tooltest.World) { w.Write(root, "greet.go", "func Greet1() {}\n") }
	change := func(w *tooltest.World) { w.Write(root, "greet.go", "func Greet2() {}\n") }
	remove := func(w *tooltest.World) { w.Remove(root, "greet.go") }
	type during []func(w *tooltest.World) // what happens during each search
	cases := []struct {
		name      string
		during    during
		freshness tool.Mode
		state     search.Freshness
		code      tool.Code
		paths     []string
		verified  bool
	}{
		{name: "a change is answered anew", during: during{change}, state: search.CaughtUp, paths: []string{"greet.go"}, verified: true},
		{name: "a removal is answered anew", during: during{remove}, state: search.CaughtUp},
		{name: "a file that keeps changing is marked", during: during{touch, change}, state: search.Behind, paths: []string{"greet.go"}},
		{name: "a file that went is dropped", during: during{touch, remove}, state: search.Behind},
		{name: "strict refuses", during: during{touch, change}, freshness: tool.ModeStrict, code: tool.CodeSourceChanged},
		{name: "eventual only marks", during: during{change}, freshness: tool.ModeEventual, state: search.Unchecked, paths: []string{"greet.go"}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := indexed(t)
			w.MidSearch = func(n int) {
				if n <= len(test.during) {
					test.during[n-1](w)
				}
			}
			e := call(t, w, "search", tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Demand: tool.Demand{Freshness: test.freshness}, Query: "func"}})
			var code tool.Code
			if e.Error != nil {
				code = e.Error.Code
			}
			if code != test.code {
				t.Fatalf("code %q, want %q", code, test.code)
			}
			if code != "" {
				return
			}
			if e.Freshness.State != test.state {
				t.Errorf("state %s, want %s", e.Freshness.State, test.state)
			}
			if diff := cmp.Diff(test.paths, paths(e)); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			for _, hit := range e.Results {
				if hit.Verified != test.verified {
					t.Errorf("%s: verified %v, want %v", hit.FilePath, hit.Verified, test.verified)
				}
			}
			if e.Freshness.State == search.Behind && !slices.Contains(e.Freshness.PendingPaths, "greet.go") {
				t.Errorf("pending %v does not name greet.go", e.Freshness.PendingPaths)
			}
		})
	}
}

func TestSearchCreatesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	w := tooltest.New()
	w.Write(root, "a.go", "func A() {}\n")
	e := call(t, w, "search", tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Query: "func"}})
	if e.Error == nil || e.Error.Code != tool.CodeCodebaseNotFound || e.State != tool.StateNotFound {
		t.Fatalf("got %v, state %s; want codebase_not_found", e.Error, e.State)
	}
	var phases []tool.Phase
	raw, err := json.Marshal(tool.SearchParams{Scope: scope(), Create: true, SearchCodebase: tool.SearchCodebase{Query: "func"}})
	if err != nil {
		t.Fatal(err)
	}
	e = tool.Dispatch(t.Context(), w.Backend(), "search", raw, func(n tool.Notice) error {
		phases = append(phases, n.Operation.Phase)
		return nil
	})
	if e.Error != nil || len(e.Results) != 1 || e.Freshness.State != search.Current {
		t.Fatalf("error %v, %d results, %s", e.Error, len(e.Results), e.Freshness.State)
	}
	if diff := cmp.Diff([]tool.Phase{tool.PhaseScanning, tool.PhaseEmbedding, tool.PhaseDone}, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}

// TestSearchWhileIndexing expects progress instead of an answer from who does not wait, and
// patience from who asked for the index to be made: another caller makes it already.
func TestSearchWhileIndexing(t *testing.T) {
	t.Parallel()
	w := tooltest.New()
	w.Write(root, "a.go", "func A() {}\n")
	if _, err := w.Register(t.Context(), root, tool.Permit{Person: true}); err != nil {
		t.Fatal(err)
	}
	w.Running = &tool.Operation{ID: "op", Kind: tool.OperationIndex, Phase: tool.PhaseChunking, Counts: tool.Counts{FilesTotal: 2, FilesChunked: 1}}
	p := tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Query: "func"}}
	for range 2 {
		e := call(t, w, "search", p)
		if e.Error == nil || e.Error.Code != tool.CodeIndexing || !e.Error.Retryable || e.ExitCode() != 3 || e.State != tool.StateIndexing {
			t.Fatalf("error %+v, exit %d, state %s; want indexing, retryable, 3", e.Error, e.ExitCode(), e.State)
		}
		if _, ok := e.Error.Details["operation"]; !ok || e.Operation == nil {
			t.Error("the error does not carry the progress")
		}
		p.Create, p.Freshness = true, tool.ModeEventual
	}
	p.Freshness = ""
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var followed []string
	e := tool.Dispatch(ctx, w.Backend(), "search", raw, func(n tool.Notice) error {
		followed = append(followed, n.Operation.ID)
		cancel()
		return nil
	})
	if !slices.Equal(followed, []string{"op"}) || e.Error == nil || e.Error.Code == tool.CodeIndexing {
		t.Errorf("followed %v, then %v; want the running operation until the caller hung up", followed, e.Error)
	}
}

// TestPagesJoinIntoTheWholeAnswer walks the cursor at every page size, with and without a
// budget, and expects the hits of one large page, in order.
func TestPagesJoinIntoTheWholeAnswer(t *testing.T) {
	t.Parallel()
	w := tooltest.New()
	for _, name := range []string{"a.go", "b.go", "c.go"} {
		w.Write(root, name, strings.Repeat("func F() {}\nfunc G() { both }\n", 4))
	}
	call(t, w, "index", tool.ManageParams{Path: root, Wait: true})
	whole := call(t, w, "search", tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Query: "func both", Limit: 100, Shape: tool.Shape{MaxTokens: -1}}})
	if len(whole.Results) != 24 || whole.HasMore {
		t.Fatalf("%d results, more %v; want 24", len(whole.Results), whole.HasMore)
	}
	for _, budget := range []int{-1, 400, 1000} {
		for limit := 1; limit < 26; limit++ {
			var ids []string
			cursor := ""
			for range 30 {
				page := call(t, w, "search", tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Query: "func both", Limit: limit, Cursor: cursor, Shape: tool.Shape{MaxTokens: budget}}})
				if page.Error != nil {
					t.Fatal(page.Error)
				}
				if page.TotalCount != 24 || len(ids)+page.ReturnedCount+page.RemainingCount != 24 {
					t.Fatalf("limit %d: total %d, returned %d after %d, remaining %d", limit, page.TotalCount, page.ReturnedCount, len(ids), page.RemainingCount)
				}
				for _, hit := range page.Results {
					ids = append(ids, hit.ID)
				}
				if cursor = page.NextCursor; !page.HasMore {
					break
				}
			}
			var want []string
			for _, hit := range whole.Results {
				want = append(want, hit.ID)
			}
			if diff := cmp.Diff(want, ids); diff != "" {
				t.Fatalf("budget %d, limit %d (-want +got):\n%s", budget, limit, diff)
			}
		}
	}
}

func TestCursorIsBound(t *testing.T) {
	t.Parallel()
	w := indexed(t)
	first := call(t, w, "search", tool.SearchParams{Scope: scope(), SearchCodebase: tool.SearchCodebase{Query: "greet", Limit: 1}})
	if !first.HasMore {
		t.Fatal("want a second page")
	}
	expect := func(name string, p tool.SearchParams, code tool.Code) {
		p.Scope, p.Cursor, p.Limit = scope(), first.NextCursor, 1
		if e := call(t, w, "search", p); e.Error == nil || e.Error.Code != code {
			t.Errorf("%s: %v, want %s", name, e.Error, code)
		}
	}
	expect("another query", tool.SearchParams{SearchCodebase: tool.SearchCodebase{Query: "other"}}, tool.CodeCursorMismatch)
	expect("another mode", tool.SearchParams{SearchCodebase: tool.SearchCodebase{Query: "greet", Mode: "text"}}, tool.CodeCursorMismatch)
	w.Write(root, "new.go", "func New() {}\n")
	expect("another snapshot", tool.SearchParams{SearchCodebase: tool.SearchCodebase{Query: "greet"}}, tool.CodeCursorExpired)
}

func TestErrorsAreEnvelopes(t *testing.T) {
	t.Parallel()
	w := indexed(t)
	cases := []struct {
		name, verb, params string
		code               tool.Code
		exit               int
	}{
		{"unknown verb", "fly", `{}`, tool.CodeInvalidArgument, 2},
		{"unknown member", "search", `{"query":"x","cwd":"/src/web","fuzzy":true}`, tool.CodeInvalidArgument, 2},
		{"broken parameters", "search", `{`, tool.CodeInvalidArgument, 2},
		{"empty query", "search", `{"query":"  "}`, tool.CodeInvalidArgument, 2},
		{"bad mode", "search", `{"query":"x","mode":"psychic"}`, tool.CodeInvalidArgument, 2},
		{"bad freshness", "search", `{"query":"x","freshness":"stale"}`, tool.CodeInvalidArgument, 2},
		{"bad limit", "search", `{"query":"x","limit":101}`, tool.CodeInvalidArgument, 2},
		{"bad token", "search", `{"query":"x","min_token":"x"}`, tool.CodeInvalidArgument, 2},
		{"no such codebase", "sync", `{"codebase":"nope"}`, tool.CodeCodebaseNotFound, 1},
		{"unconfirmed clear", "clear", `{"codebase":"web"}`, tool.CodeConfirmationRequired, 1},
		{"no such snapshot", "diff", `{"from":9}`, tool.CodeSnapshotNotFound, 1},
		{"relative path", "index", `{"path":"web"}`, tool.CodeInvalidArgument, 2},
		{"vanished path", "index", `{"path":"/nowhere"}`, tool.CodePathNotFound, 1},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := tool.Dispatch(t.Context(), w.Backend(), test.verb, json.RawMessage(test.params), nil)
			if e.Error == nil || e.Error.Code != test.code || e.ExitCode() != test.exit || e.Status != tool.StatusError {
				t.Errorf("error %v, exit %d; want %s, %d", e.Error, e.ExitCode(), test.code, test.exit)
			}
		})
	}
}

func TestInterruptedCallSaysHowToResume(t *testing.T) {
	t.Parallel()
	w := tooltest.New()
	w.Write(root, "a.go", "func A() {}\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := tool.Dispatch(ctx, w.Backend(), "index", json.RawMessage(`{"path":"/src/web","wait":true}`), nil)
	if e.Error == nil || e.Error.Code != tool.CodeInterrupted || !strings.Contains(e.Error.Message, "resume") || e.ExitCode() != 1 {
		t.Errorf("error %v, exit %d", e.Error, e.ExitCode())
	}
}
