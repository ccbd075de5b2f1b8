package ollama_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/ollama"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/embedding/served/servedtest"
	"github.com/freshet/freshet/pipeline/remote"
)

func format() servedtest.Format {
	return servedtest.Format{
		Path: "/api/embed", KeyHeader: "Authorization",
		Texts: func(body []byte) ([]string, error) {
			var r struct {
				Input []string `json:"input"`
			}
			return r.Input, json.Unmarshal(body, &r)
		},
		Answer: func(vectors [][]float32) any {
			return map[string]any{"model": "nomic-embed-text", "embeddings": vectors, "total_duration": 14143917, "load_duration": 1019500, "prompt_eval_count": 8}
		},
		Refusal: `{"error":"model \"nomic-embed-text\" not found, try pulling it first"}`,
	}
}

func provider(dimension, ask int) func(t *testing.T, url string) *served.Provider {
	return func(t *testing.T, url string) *served.Provider {
		t.Helper()
		service := servedtest.Service(t, url, "", "")
		p, err := served.New(served.Options{
			Service: service, Name: "ollama", Model: "nomic-embed-text", Dimension: dimension, Limits: ollama.Limits(),
			Wire: &ollama.Wire{Service: service, Model: "nomic-embed-text", Dimensions: ask},
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func TestProvider(t *testing.T) {
	t.Parallel()
	servedtest.Run(t, format(), provider(servedtest.Dimension, 0))
}

func TestWire(t *testing.T) {
	t.Parallel()
	const answer = `{"model":"nomic-embed-text","embeddings":[[1,0]],"total_duration":14143917,"load_duration":1019500,"prompt_eval_count":8}`
	servedtest.Fixture(t, format(), provider(2, 0), embedding.Document,
		`{"model":"nomic-embed-text","input":["func A()"],"truncate":true}`, answer, "func A()")
	servedtest.Fixture(t, format(), provider(2, 2), embedding.Query,
		`{"model":"nomic-embed-text","input":["a"],"truncate":true,"dimensions":2}`, answer, "a")
}

func TestDigest(t *testing.T) {
	t.Parallel()
	s := servedtest.New(t, format())
	s.Fail(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/api/tags" {
			http.Error(rw, "not found", http.StatusNotFound)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"models":[{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest","modified_at":"2026-05-04T17:37:44Z","size":274302450,"digest":"0a109f422b47","details":{"format":"gguf","family":"nomic-bert"}},{"name":"bge:q8","digest":"cafe"}]}`)
	})
	service := servedtest.Service(t, s.URL, "", "")
	for model, want := range map[string]string{"nomic-embed-text": "0a109f422b47", "nomic-embed-text:latest": "0a109f422b47", "bge:q8": "cafe"} {
		if got, err := ollama.Digest(t.Context(), service, model); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", model, got, err, want)
		}
	}
	var fault *remote.Error
	if _, err := ollama.Digest(t.Context(), service, "bge"); !errors.As(err, &fault) || fault.Fault != remote.FaultSettings || !strings.Contains(err.Error(), "ollama pull bge") {
		t.Errorf("an absent model: %v", err)
	}
}
