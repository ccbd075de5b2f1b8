package openai_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/openai"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/embedding/served/servedtest"
)

const key = "sk-a-key-of-openai"

func format() servedtest.Format {
	return servedtest.Format{
		Path: "/v1/embeddings", KeyHeader: "Authorization", Key: "Bearer " + key,
		Texts: func(body []byte) ([]string, error) {
			var r struct {
				Input []string `json:"input"`
			}
			err := json.Unmarshal(body, &r)
			for i, text := range r.Input {
				r.Input[i] = strings.TrimPrefix(strings.TrimPrefix(text, "search_query: "), "search_document: ")
			}
			return r.Input, err
		},
		Answer: func(vectors [][]float32) any {
			var data []map[string]any
			for i, v := range vectors {
				data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
			}
			slices.Reverse(data) // the order is told by the index
			return map[string]any{"object": "list", "model": "text-embedding-3-small", "data": data, "usage": map[string]int{"prompt_tokens": 5, "total_tokens": 5}}
		},
		Refusal: `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
	}
}

func provider(dimension, ask int) func(t *testing.T, url string) *served.Provider {
	return func(t *testing.T, url string) *served.Provider {
		t.Helper()
		service := servedtest.Service(t, url+"/v1", key, "")
		p, err := served.New(served.Options{
			Service: service, Name: "openai", Model: "text-embedding-3-small", Dimension: dimension, Limits: openai.Limits(),
			Wire: &openai.Wire{Service: service, Model: "text-embedding-3-small", Dimensions: ask, QueryPrefix: "search_query: ", DocumentPrefix: "search_document: "},
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
	const answer = `{"object":"list","data":[{"object":"embedding","index":1,"embedding":[0.0,-2.0]},{"object":"embedding","index":0,"embedding":[3.0,4.0]}],"model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}`
	v := servedtest.Fixture(t, format(), provider(2, 0), embedding.Document,
		`{"model":"text-embedding-3-small","input":["search_document: func A()","search_document: func B()"],"encoding_format":"float"}`, answer, "func A()", "func B()")
	if want := [][]float32{{0.6, 0.8}, {0, -1}}; !slices.EqualFunc(v, want, slices.Equal[[]float32]) {
		t.Errorf("vectors %v, want %v", v, want)
	}
	servedtest.Fixture(t, format(), provider(2, 2), embedding.Query,
		`{"model":"text-embedding-3-small","input":["search_query: a","search_query: b"],"encoding_format":"float","dimensions":2}`, answer, "a", "b")
}
