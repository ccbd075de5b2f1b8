package provider

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/freshet/freshet/pipeline/embedding"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func TestEmbedderFromEnvironment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env    func(string) string
		want   Embedder
		remote bool
		fault  string
	}{
		"nothing": {env: env(), want: Embedder{Name: Builtin}},
		"builtin": {env: env("FRESHET_EMBEDDER", "builtin"), want: Embedder{Name: Builtin}},
		"a key of another program": {
			env: env("OPENAI_API_KEY", "k"), want: Embedder{Name: Builtin},
		},
		"openai": {
			env:    env("FRESHET_EMBEDDER", "openai", "OPENAI_API_KEY", "k", "FRESHET_EMBEDDER_MODEL", "text-embedding-3-small", "FRESHET_EMBEDDER_DIMENSION", "512"),
			want:   Embedder{Name: OpenAI, URL: "https://api.openai.com/v1", Key: "k", Model: "text-embedding-3-small", Dimension: 512},
			remote: true,
		},
		"a compatible server gets no key but its own": {
			env:  env("FRESHET_EMBEDDER", "openai", "FRESHET_EMBEDDER_URL", "http://127.0.0.1:8080/v1", "OPENAI_API_KEY", "k", "FRESHET_EMBEDDER_MODEL", "m", "FRESHET_EMBEDDER_QUERY_PREFIX", "query: "),
			want: Embedder{Name: OpenAI, URL: "http://127.0.0.1:8080/v1", Model: "m", QueryPrefix: "query: "},
		},
		"ollama": {env: env("FRESHET_EMBEDDER", "ollama", "FRESHET_EMBEDDER_MODEL", "bge"), want: Embedder{Name: Ollama, URL: "http://127.0.0.1:11434", Model: "bge"}},
		"voyage": {
			env:    env("FRESHET_EMBEDDER", "voyage", "FRESHET_EMBEDDER_KEY", "k", "FRESHET_EMBEDDER_CONCURRENCY", "2"),
			want:   Embedder{Name: Voyage, URL: "https://api.voyageai.com/v1", Key: "k", Model: "voyage-code-3", Concurrency: 2},
			remote: true,
		},
		"gemini": {
			env:    env("FRESHET_EMBEDDER", "gemini", "GEMINI_API_KEY", "k"),
			want:   Embedder{Name: Gemini, URL: "https://generativelanguage.googleapis.com/v1beta", Key: "k", Model: "gemini-embedding-001"},
			remote: true,
		},
		"unknown":             {env: env("FRESHET_EMBEDDER", "cohere"), fault: "FRESHET_EMBEDDER is"},
		"no key":              {env: env("FRESHET_EMBEDDER", "voyage"), fault: "VOYAGE_API_KEY"},
		"no model":            {env: env("FRESHET_EMBEDDER", "ollama"), fault: "FRESHET_EMBEDDER_MODEL"},
		"no provider":         {env: env("FRESHET_EMBEDDER_MODEL", "m"), fault: "set FRESHET_EMBEDDER to"},
		"a bad number":        {env: env("FRESHET_EMBEDDER", "ollama", "FRESHET_EMBEDDER_DIMENSION", "many"), fault: "FRESHET_EMBEDDER_DIMENSION"},
		"a huge number":       {env: env("FRESHET_EMBEDDER", "ollama", "FRESHET_EMBEDDER_DIMENSION", "100000"), fault: "1 to 8192"},
		"a bad address":       {env: env("FRESHET_EMBEDDER", "ollama", "FRESHET_EMBEDDER_MODEL", "m", "FRESHET_EMBEDDER_URL", "gpu:80"), fault: "FRESHET_EMBEDDER_URL"},
		"a key in the clear":  {env: env("FRESHET_EMBEDDER", "openai", "FRESHET_EMBEDDER_MODEL", "m", "FRESHET_EMBEDDER_KEY", "k", "FRESHET_EMBEDDER_URL", "http://gpu/v1"), fault: "in the clear"},
		"a prefix for voyage": {env: env("FRESHET_EMBEDDER", "voyage", "VOYAGE_API_KEY", "k", "FRESHET_EMBEDDER_QUERY_PREFIX", "q"), fault: "PREFIX"},
	} {
		got, err := EmbedderFromEnvironment(c.env)
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v, want %q", name, err, c.fault)
			continue
		}
		if err == nil && (got != c.want || got.Remote() != c.remote) {
			t.Errorf("%s: %+v, remote %v; want %+v, %v", name, got, got.Remote(), c.want, c.remote)
		}
	}
}

// TestOpen begins with a service that is there, then with one that is away, whose model is
// known by then, and then with a choice of which nothing is known.
func TestOpen(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(rw, "loading", http.StatusServiceUnavailable)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/tags" {
			_, _ = io.WriteString(rw, `{"models":[{"name":"m:latest","digest":"d1"}]}`)
			return
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{"embeddings": [][]float32{{1, 2, 3}}})
	}))
	t.Cleanup(server.Close)
	e, err := EmbedderFromEnvironment(env("FRESHET_EMBEDDER", "ollama", "FRESHET_EMBEDDER_MODEL", "m", "FRESHET_EMBEDDER_URL", server.URL))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	first, err := e.Open(t.Context(), MemoryIn(home))
	if err != nil {
		t.Fatal(err)
	}
	if r := first.Recipe(); r.Dimension != 3 || r.Provider != "ollama" || r.Model != "m" || len(r.Artifact) != 64 {
		t.Errorf("recipe %+v", r)
	}
	info, err := os.Stat(filepath.Join(home, memoryName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	away.Store(true)
	again, err := e.Open(t.Context(), MemoryIn(home))
	if err != nil || again.Recipe() != first.Recipe() {
		t.Fatalf("while the service is away: %v", err)
	}
	if _, err := again.Embed(t.Context(), embedding.Document, []string{"a"}); err == nil {
		t.Error("a service that is away embedded")
	}
	other := e
	other.Model = "n"
	for name, try := range map[string]func() error{
		"another model": func() error { _, err := other.Open(t.Context(), MemoryIn(home)); return err },
		"no memory":     func() error { _, err := e.Open(t.Context(), ""); return err },
		"an empty home": func() error { _, err := e.Open(t.Context(), MemoryIn(t.TempDir())); return err },
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "FRESHET_EMBEDDER") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBuiltinNeedsNothing(t *testing.T) {
	t.Parallel()
	p, err := Embedder{}.Open(t.Context(), "")
	if err != nil || p.Recipe().Provider != Builtin {
		t.Errorf("%v, %v", p, err)
	}
}
