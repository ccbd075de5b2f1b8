package host

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/doctor"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/openai"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/remote"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
)

// distant is an embedding service that can be away, and counts the texts it embeds.
type distant struct {
	url   string
	away  atomic.Bool
	texts atomic.Int64
}

func newDistant(t *testing.T) *distant {
	t.Helper()
	e := &distant{}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var in struct {
			Input []string `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || e.away.Load() {
			rw.Header().Set("Retry-After", "0.1")
			http.Error(rw, "overloaded", http.StatusServiceUnavailable)
			return
		}
		e.texts.Add(int64(len(in.Input)))
		var rows []served.Row
		for i, text := range in.Input {
			row := served.Row{Index: i, Embedding: make([]float32, 24)}
			for at, word := range strings.Fields(text) {
				row.Embedding[(at+len(word)*7)%24] += 0.3 + float32(len(word))
			}
			rows = append(rows, row)
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(map[string]any{"data": rows})
	}))
	t.Cleanup(server.Close)
	e.url = server.URL
	return e
}

func (e *distant) provider(context.Context, string) (embedding.Querier, error) {
	service, err := remote.New(remote.Options{URL: e.url})
	if err != nil {
		return nil, err
	}
	return served.New(served.Options{
		Service: service, Name: "openai", Model: "m", Dimension: 24, Limits: openai.Limits(),
		Wire: &openai.Wire{Service: service, Model: "m"},
	})
}

// An embedding service over the network that goes away costs the vectors of what changes
// meanwhile and nothing else: the change is found by its words, nothing is parked, and when
// the service is back the index is that of a rebuild, which asks the service for nothing
// that the store has.
func TestEmbeddingServiceGoesAway(t *testing.T) {
	t.Parallel()
	e := newDistant(t)
	home, root := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"Name7", "Other", "Third"} {
		write(name+".go", "package a\n\nfunc "+name+"() {}\n")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Connect(t.Context(), Options{Home: home, Version: "test", ChunkCommand: []string{self, asChild}, Provider: e.provider})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	call := func(verb string, params map[string]any) *tool.Envelope {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		envelope, err := s.Call(ctx, verb, params, nil)
		if err != nil || envelope.Error != nil {
			t.Fatalf("%s: %v, %+v", verb, err, envelope)
		}
		return envelope
	}
	call("index", map[string]any{"path": root, "wait": true})
	if n := e.texts.Load(); n != 3 {
		t.Errorf("%d texts were embedded, want 3", n)
	}
	expectModel := func(grade tool.Grade, part string) {
		t.Helper()
		for _, f := range doctor.Diagnose(t.Context(), doctor.Options{Home: t.TempDir(), Provider: e.provider}, root) {
			if f.Check == "model" && (f.Grade != grade || !strings.Contains(f.Detail, part)) {
				t.Errorf("doctor says %+v, want %s and %q", f, grade, part)
			}
		}
	}
	expectModel(tool.GradeGood, "m of openai embeds into 24")
	e.away.Store(true)
	expectModel(tool.GradeBad, "503")
	write("new.go", "package a\n\nfunc Brandnew() {}\n")
	var found *tool.Envelope
	for deadline := time.Now().Add(5 * time.Minute); ; { // the words are sealed after half the time that a reader waits
		found = call("search", map[string]any{"codebase": root, "query": "Brandnew", "max_wait_ms": 4000})
		if found.Freshness.State != search.Behind || time.Now().After(deadline) {
			break
		}
	}
	caughtUp := found.Freshness.State == search.CaughtUp || found.Freshness.State == search.Current
	if len(found.Results) == 0 || !caughtUp || found.Freshness.Level != store.LevelText.String() {
		t.Fatalf("%d results, %s, level %s; want the new file, caught up, by its words", len(found.Results), found.Freshness.State, found.Freshness.Level)
	}
	if !slices.ContainsFunc(found.Warnings, func(w search.Warning) bool { return strings.Contains(w.Message, "503") }) {
		t.Errorf("warnings %+v do not tell why there are no vectors", found.Warnings)
	}
	e.away.Store(false)
	for {
		again := call("search", map[string]any{"codebase": root, "query": "Brandnew", "max_wait_ms": 500})
		if again.Freshness.Level == store.LevelFull.String() {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("the snapshot is never sealed full")
		}
	}
	before := e.texts.Load()
	verified := call("verify", map[string]any{"codebase": root})
	if verified.Verification == nil || !verified.Equal {
		t.Errorf("the index differs from a rebuild: %+v", verified.Verification)
	}
	if n := e.texts.Load(); n != before {
		t.Errorf("verify embedded %d texts again", n-before)
	}
	if failures := call("status", map[string]any{"codebase": root}); failures.Status != tool.StatusOK {
		t.Errorf("status %+v", failures)
	}
}
