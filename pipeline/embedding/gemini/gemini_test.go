package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/gemini"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/embedding/served/servedtest"
)

const key = "AIza-a-key-of-gemini"

func format() servedtest.Format {
	return servedtest.Format{
		Path: "/v1beta/models/gemini-embedding-001:batchEmbedContents", KeyHeader: gemini.KeyHeader, Key: key,
		Texts: func(body []byte) ([]string, error) {
			var r struct {
				Requests []struct {
					Content struct {
						Parts []struct {
							Text string `json:"text"`
						} `json:"parts"`
					} `json:"content"`
				} `json:"requests"`
			}
			err := json.Unmarshal(body, &r)
			var texts []string
			for _, q := range r.Requests {
				texts = append(texts, q.Content.Parts[0].Text)
			}
			return texts, err
		},
		Answer: func(vectors [][]float32) any {
			var all []map[string]any
			for _, v := range vectors {
				all = append(all, map[string]any{"values": v})
			}
			return map[string]any{"embeddings": all}
		},
		Refusal: `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}`,
	}
}

func provider(dimension, ask int) func(t *testing.T, url string) *served.Provider {
	return func(t *testing.T, url string) *served.Provider {
		t.Helper()
		service := servedtest.Service(t, url+"/v1beta", key, gemini.KeyHeader)
		p, err := served.New(served.Options{
			Service: service, Name: "gemini", Model: gemini.Model, Dimension: dimension, Limits: gemini.Limits(), TextBytes: gemini.TextBytes,
			Wire: &gemini.Wire{Service: service, Model: gemini.Model, Dimensions: ask},
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
	const answer = `{"embeddings":[{"values":[1,0]}]}`
	servedtest.Fixture(t, format(), provider(2, 0), embedding.Document,
		`{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"func A()"}]},"taskType":"RETRIEVAL_DOCUMENT"}]}`, answer, "func A()")
	servedtest.Fixture(t, format(), provider(2, 2), embedding.Query,
		`{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]},"taskType":"CODE_RETRIEVAL_QUERY","outputDimensionality":2}]}`, answer, "a")
}
