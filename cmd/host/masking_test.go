package host

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/freshet/freshet/mcp/tool"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/openai"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/remote"
	"github.com/freshet/freshet/pipeline/rerank"
	"github.com/freshet/freshet/store/search"
)

// credentials are parts of credentials that no exit may let through.
func credentials() map[string]string {
	draw := func(seed string, n int) string { // letters and digits that look drawn
		out := ""
		for i := 0; len(out) < n; i++ {
			for _, b := range sha256.Sum256(fmt.Append(nil, seed, i)) {
				out += string("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"[int(b)%56])
			}
		}
		return out[:n]
	}
	key := draw("k1", 64) + "\n" + draw("k2", 64) + "\n" + draw("k3", 64)
	return map[string]string{
		"github-token": "ghp_" + draw("g", 36), "stripe-key": "sk_live_" + draw("s", 24), "url-password": draw("u", 20),
		"generic-credential": draw("x", 32), "npm-token": "npm_" + draw("n", 36), "private-key": key,
	}
}

// credentialTree is a tree whose code holds credentials: in bodies, comments, signatures.
func credentialTree(t *testing.T) (root string, parts []string) {
	t.Helper()
	root = tree(t)
	c := credentials()
	write(t, root, "app/config.go", "package app\n\n// Connect uses "+c["github-token"]+" to connect.\nfunc Connect() string {\n\treturn \""+c["stripe-key"]+"\"\n}\n\nvar apiKey = \""+c["generic-credential"]+"\"\n")
	write(t, root, "app/deploy.py", "def deploy(token=\""+c["npm-token"]+"\"):\n    \"\"\"Deploys with "+c["github-token"]+".\"\"\"\n    return connect(\"postgres://svc:"+c["url-password"]+"@db.internal/app\")\n")
	write(t, root, "app/key.go", "package app\n\nconst signer = `-----BEGIN RSA PRIVATE KEY-----\n"+c["private-key"]+"\n-----END RSA PRIVATE KEY-----`\n")
	for _, part := range c {
		parts = append(parts, strings.Split(strings.TrimPrefix(strings.TrimPrefix(part, "sk_live_"), "ghp_"), "\n")...)
	}
	return root, parts
}

// heard is everything that services over a network were sent.
type heard struct {
	mu    sync.Mutex
	texts []string
}

func (h *heard) add(texts ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, texts...)
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.texts, "\n")
}

// services answers as an embedding service and as a reranker.
func (h *heard) services(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Input     []string `json:"input"`
			Query     string   `json:"query"`
			Documents []string `json:"documents"`
		}
		if json.NewDecoder(r.Body).Decode(&asked) != nil {
			http.Error(w, "no JSON", http.StatusBadRequest)
			return
		}
		h.add(append(append(asked.Input, asked.Documents...), asked.Query)...)
		if asked.Documents != nil {
			var results []map[string]any
			for i := range asked.Documents {
				results = append(results, map[string]any{"index": i, "relevance_score": 1 / float64(i+1)})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
			return
		}
		var rows []map[string]any
		for i := range asked.Input {
			rows = append(rows, map[string]any{"index": i, "embedding": []float32{1, float32(i%7) + 1, 2, 3}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": rows})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// What has the form of a credential passes no exit: answers of every kind, live reads,
// remote reads, exports, recordings and what is replayed of them, the embedding provider,
// the reranker, the log. It is marked with the name of its rule.
func TestCredentialsPassNoExit(t *testing.T) {
	t.Parallel()
	root, parts := credentialTree(t)
	var sent heard
	url := sent.services(t)
	reranker, err := rerank.New(rerank.Options{Kind: rerank.Compatible, URL: url})
	if err != nil {
		t.Fatal(err)
	}
	s, logged := connectLogged(t, Options{
		Home: t.TempDir(),
		Provider: func(context.Context, string) (embedding.Querier, error) {
			service, err := remote.New(remote.Options{URL: url})
			if err != nil {
				return nil, err
			}
			return served.New(served.Options{
				Wire: &openai.Wire{Service: service, Model: "stub"}, Service: service, Name: "openai", Model: "stub", Dimension: 4, Limits: openai.Limits(),
			})
		},
		Reranking: func() (search.Reranking, error) { return search.Reranking{Reranker: reranker}, nil },
	})
	must(t, s, "index", map[string]any{"path": root, "wait": true})
	check := func(exit, text string) {
		t.Helper()
		for _, part := range parts {
			if strings.Contains(text, part) {
				t.Errorf("%s lets %.12s... through", exit, part)
			}
		}
	}
	marked := 0
	for _, verb := range []string{"search", tool.ToolSearch} {
		for _, mode := range []string{"hybrid", "semantic", "text", "exact", "regex", "symbol", "path"} {
			for _, query := range []string{"Connect", "deploy", "signer", "PRIVATE KEY", "connect with " + credentials()["github-token"]} {
				answer := answerOf(t, s, verb, map[string]any{"query": query, "mode": mode, "codebase": root, "context_lines": 3, "verbosity": "full"})
				check(verb+" "+mode, strings.ReplaceAll(answer, query, ""))
				marked += strings.Count(answer, "secrets_masked")
			}
		}
	}
	for _, target := range []string{"app/config.go", "app/deploy.py", "app/key.go", "app/key.go:5-6", "Connect", "deploy", "app/config.go:4"} {
		for _, view := range []string{"full", "fragment", "skeleton"} {
			answer := answerOf(t, s, tool.ToolRead, map[string]any{"targets": []string{target}, "codebase": root, "view": view, "verbosity": "full"})
			check("read "+view+" of "+target, answer)
			marked += strings.Count(answer, "secrets_masked")
		}
	}
	if marked == 0 {
		t.Error("no answer says that something is masked")
	}
	if answer := answerOf(t, s, "read", map[string]any{"targets": []string{"app/config.go"}, "codebase": root}); !strings.Contains(answer, "[masked stripe-key]") || !strings.Contains(answer, "[masked github-token]") {
		t.Errorf("a read does not name the rules:\n%s", answer)
	}
	why := answerOf(t, s, "why", map[string]any{"path": "app/config.go", "codebase": root})
	check("why", why)
	if !strings.Contains(why, "3 spans of the form of credentials") {
		t.Errorf("why does not count what is masked:\n%s", why)
	}
	check("overview", answerOf(t, s, tool.ToolList, map[string]any{"codebase": root, "view": "overview", "verbosity": "full"}))
	check("export", answerOf(t, s, "export", map[string]any{"codebase": root}))
	write(t, root, "app/config.go", "package app\n\n// Connect needs nothing.\nfunc Connect() string { return \"\" }\n")
	must(t, s, "sync", map[string]any{"codebase": root, "wait": true})
	check("compare", answerOf(t, s, "diff", map[string]any{"codebase": root, "from": 1}))
	check(tool.ToolCompare, answerOf(t, s, tool.ToolCompare, map[string]any{"codebase": root, "from": 1, "verbosity": "full"}))
	file := filepath.Join(t.TempDir(), "history")
	recording := must(t, s, "record", map[string]any{"file": file}).Report.Recording
	if recording.Masked < 6 {
		t.Errorf("the recording counts %d masked credentials", recording.Masked)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	check("record", string(data))
	must(t, s, "replay", map[string]any{"file": file}) // its hashes and roots fit
	check("events", answerOf(t, s, "events", map[string]any{}))
	check("the log", logged.String())
	check("what services were sent", sent.all())
	if !strings.Contains(sent.all(), "[masked stripe-key]") || !strings.Contains(sent.all(), "func Connect()") {
		t.Error("the services were not sent the masked code")
	}
}
