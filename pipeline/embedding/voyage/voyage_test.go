package voyage_test

import (
	"encoding/json"
	"testing"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/embedding/served/servedtest"
	"github.com/freshet/freshet/pipeline/embedding/voyage"
)

const key = "pa-a-key-of-voyage"

func format() servedtest.Format {
	return servedtest.Format{
		Path: "/v1/embeddings", KeyHeader: "Authorization", Key: "Bearer " + key,
		Texts: func(body []byte) ([]string, error) {
			var r struct {
				Input []string `json:"input"`
			}
			return r.Input, json.Unmarshal(body, &r)
		},
		Answer: func(vectors [][]float32) any {
			var data []map[string]any
			for i, v := range vectors {
				data = append(data, map[string]any{"object": "embedding", "embedding": v, "index": i})
			}
			return map[string]any{"object": "list", "data": data, "model": voyage.Model, "usage": map[string]int{"total_tokens": 10}}
		},
		Refusal: `{"detail":"Provided API key is invalid."}`,
	}
}

func provider(dimension, ask int) func(t *testing.T, url string) *served.Provider {
	return func(t *testing.T, url string) *served.Provider {
		t.Helper()
		service := servedtest.Service(t, url+"/v1", key, "")
		p, err := served.New(served.Options{
			Service: service, Name: "voyage", Model: voyage.Model, Dimension: dimension, Limits: voyage.Limits(),
			Wire: &voyage.Wire{Service: service, Model: voyage.Model, Dimensions: ask},
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
	const answer = `{"object":"list","data":[{"object":"embedding","embedding":[1,0],"index":0}],"model":"voyage-code-3","usage":{"total_tokens":5}}`
	servedtest.Fixture(t, format(), provider(2, 0), embedding.Document,
		`{"model":"voyage-code-3","input":["func A()"],"input_type":"document","truncation":true}`, answer, "func A()")
	servedtest.Fixture(t, format(), provider(2, 2), embedding.Query,
		`{"model":"voyage-code-3","input":["a"],"input_type":"query","truncation":true,"output_dimension":2}`, answer, "a")
}
