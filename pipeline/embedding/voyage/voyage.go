// Package voyage speaks the embeddings API of Voyage AI: POST {address}/embeddings.
package voyage

import (
	"context"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/remote"
)

// The service's address, and its model for code.
const (
	URL   = "https://api.voyageai.com/v1"
	Model = "voyage-code-3"
)

// Limits are those of voyage-code-3, 1,000 texts and 120,000 tokens a request, with room to
// spare.
func Limits() embedding.Limits {
	return embedding.Limits{BatchTexts: 128, BatchBytes: 200 << 10, Concurrency: 4}
}

// Dimension is what a model gives when it is not asked for another, 0 when it is not known.
func Dimension(model string) int {
	switch model {
	case "voyage-code-3", "voyage-3-large", "voyage-3.5", "voyage-3.5-lite":
		return 1024
	}
	return 0
}

// Wire asks the service.
type Wire struct {
	Service    *remote.Service
	Model      string
	Dimensions int // 0 takes the model's own
}

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	InputType  string   `json:"input_type"`
	Truncation bool     `json:"truncation"`
	Dimension  int      `json:"output_dimension,omitempty"`
}

// Embed asks for the vectors of texts.
func (w *Wire) Embed(ctx context.Context, kind embedding.Kind, texts []string, most int64) ([][]float32, error) {
	in := request{Model: w.Model, Input: texts, InputType: "document", Truncation: true, Dimension: w.Dimensions}
	if kind == embedding.Query {
		in.InputType = "query"
	}
	var out struct {
		Data []served.Row `json:"data"`
	}
	if err := w.Service.Post(ctx, "/embeddings", in, &out, most); err != nil {
		return nil, err
	}
	return served.InOrder(out.Data, len(texts))
}
