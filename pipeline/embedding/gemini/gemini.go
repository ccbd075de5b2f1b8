// Package gemini speaks the embeddings API of Gemini: POST
// {address}/models/MODEL:batchEmbedContents.
package gemini

import (
	"context"
	"net/url"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/remote"
)

// The service's address, the header of its key, and its model.
const (
	URL       = "https://generativelanguage.googleapis.com/v1beta"
	KeyHeader = "X-Goog-Api-Key"
	Model     = "gemini-embedding-001"
)

// Limits are those of the service, 100 texts a request. TextBytes is where a text is
// clipped: the model takes 2,048 tokens.
func Limits() embedding.Limits {
	return embedding.Limits{BatchTexts: 100, BatchBytes: 400 << 10, Concurrency: 4}
}

// TextBytes is what 2,048 tokens of source code have at most.
const TextBytes = 8 << 10

// Dimension is what a model gives when it is not asked for less, 0 when it is not known.
func Dimension(model string) int {
	if model == Model {
		return 3072
	}
	return 0
}

// Wire asks the service.
type Wire struct {
	Service    *remote.Service
	Model      string
	Dimensions int // 0 takes the model's own
}

type part struct {
	Text string `json:"text"`
}

type content struct {
	Parts []part `json:"parts"`
}

type request struct {
	Model      string  `json:"model"`
	Content    content `json:"content"`
	TaskType   string  `json:"taskType"`
	Dimensions int     `json:"outputDimensionality,omitempty"`
}

// Embed asks for the vectors of texts.
func (w *Wire) Embed(ctx context.Context, kind embedding.Kind, texts []string, most int64) ([][]float32, error) {
	task := "RETRIEVAL_DOCUMENT"
	if kind == embedding.Query {
		task = "CODE_RETRIEVAL_QUERY"
	}
	var in struct {
		Requests []request `json:"requests"`
	}
	for _, text := range texts {
		in.Requests = append(in.Requests, request{
			Model: "models/" + w.Model, Content: content{Parts: []part{{text}}}, TaskType: task, Dimensions: w.Dimensions,
		})
	}
	var out struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
	}
	if err := w.Service.Post(ctx, "/models/"+url.PathEscape(w.Model)+":batchEmbedContents", in, &out, most); err != nil {
		return nil, err
	}
	rows := make([][]float32, len(out.Embeddings))
	for i, e := range out.Embeddings {
		rows[i] = e.Values
	}
	return rows, nil
}
