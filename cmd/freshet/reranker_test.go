package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freshet/freshet/mcp/mcptest"
	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/store/search"
)

// scorer is a reranking server as vLLM, llama.cpp and others are. It likes the files with
// the highest numbers.
type scorer struct {
	*httptest.Server

	mu        sync.Mutex
	documents [][]string
}

func newScorer(t *testing.T) *scorer {
	t.Helper()
	s := &scorer{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/rerank", s.rerank)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *scorer) rerank(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.documents = append(s.documents, request.Documents)
	s.mu.Unlock()
	type score struct {
		Index int     `json:"index"`
		Score float64 `json:"relevance_score"`
	}
	var answer struct {
		Results []score `json:"results"`
	}
	for i, d := range request.Documents {
		answer.Results = append(answer.Results, score{i, float64(d[len("file")])})
	}
	data, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // a client that is gone is not told
}

func (s *scorer) calls() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.documents
}

// found asks over MCP and returns the files of the hits in order, the place to go on, and
// why the reranker had no say, if so.
func found(t *testing.T, client *mcptest.Client, arguments map[string]any) (files, next, skipped string) {
	t.Helper()
	envelope, err := client.Ask(t.Context(), tool.ToolSearch, arguments)
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range envelope.Results {
		files += strings.TrimSuffix(strings.TrimPrefix(hit.FilePath, "file"), ".go")
	}
	for _, w := range envelope.Warnings {
		if w.Code == search.WarnRerank {
			skipped = w.Message
		}
	}
	return files, envelope.NextCursor, skipped
}

// TestRerankerChosenByTheEnvironment runs the program against a reranking server on
// loopback, and then without it.
func TestRerankerChosenByTheEnvironment(t *testing.T) {
	t.Parallel()
	p, s := tree(t), newScorer(t)
	url, _ := p.up([]string{"FRESHET_RERANKER=compatible", "FRESHET_RERANKER_URL=" + s.URL, "FRESHET_RERANKER_TIMEOUT_MS=30000"})
	client := p.overHTTP(url, "")
	if err := client.Index(t.Context(), p.dir); err != nil {
		t.Fatal(err)
	}
	const query = "what counts here"
	first, next, skipped := found(t, client, map[string]any{"query": query, "limit": 2})
	if first != "43" || skipped != "" {
		t.Fatalf("files %s, skipped because %q, want 43 and the reranker's say", first, skipped)
	}
	if calls := s.calls(); len(calls) != 1 || len(calls[0]) != 5 || !slices.ContainsFunc(calls[0], func(d string) bool {
		return strings.HasPrefix(d, "file4.go\n") && strings.Contains(d, "return 4")
	}) {
		t.Errorf("the server was sent %q, want the texts of five files once", calls)
	}
	s.Close()
	if files, _, skipped := found(t, client, map[string]any{"query": query, "limit": 2, "cursor": next}); files != "21" || skipped != "" {
		t.Errorf("the second page has %s, skipped because %q, want 21 of the order that the first one had", files, skipped)
	}
	files, _, skipped := found(t, client, map[string]any{"query": "what else counts"})
	if len(files) != 5 || files == "43210" || !strings.Contains(skipped, "refused") || !strings.Contains(skipped, s.Listener.Addr().String()) {
		t.Errorf("without the server: %s, skipped because %q, want five in another order and the refused connection", files, skipped)
	}
	if files, _, skipped := found(t, client, map[string]any{"query": "F3"}); !strings.HasPrefix(files, "3") || skipped != "" {
		t.Errorf("a look-up by name: %s, skipped because %q, want 3 first and no word of the reranker", files, skipped)
	}
}

// TestWrongSettingsAreErrors: a wrong setting of a service is an error that names it, not a
// search without the service.
func TestWrongSettingsAreErrors(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, c := range []struct{ setting, names string }{
		{"FRESHET_RERANKER=nobody", "FRESHET_RERANKER"},
		{"FRESHET_RERANKER_POLICY=force", "FRESHET_RERANKER"},
		{"FRESHET_RERANKER=compatible", "FRESHET_RERANKER_URL"},
		{"FRESHET_EMBEDDER=nobody", "FRESHET_EMBEDDER"},
	} {
		for _, args := range [][]string{{"search", "what counts here", "--json"}, {"up", "--listen", "127.0.0.1:0"}} {
			cmd := p.command(args...)
			cmd.Env = append(cmd.Env, c.setting)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(stdout)
			if err != nil {
				t.Fatal(err)
			}
			if err := finish(t, cmd); err == nil || cmd.ProcessState.ExitCode() != tool.ExitUsage || !strings.Contains(string(said)+stderr.String(), c.names) {
				t.Errorf("freshet %s with %s: %v, %s%s: want exit code 2 and %s", args[0], c.setting, err, said, stderr.String(), c.names)
			}
		}
	}
}
