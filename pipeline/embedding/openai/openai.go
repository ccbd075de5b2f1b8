// Package openai speaks the embeddings API of OpenAI, which llama.cpp, vLLM, LM Studio,
// Infinity and others speak too: POST {address}/embeddings.
package openai

import (
	"context"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/remote"
)

// URL is OpenAI's own address.
const URL = "https://api.openai.com/v1"

// Limits are those of OpenAI, 2,048 texts and 300,000 tokens a request, with room to spare:
// source code has a token for every two to four bytes.
func Limits() embedding.Limits {
	return embedding.Limits{BatchTexts: 256, BatchBytes: 400 << 10, Concurrency: 4}
}

// Dimension is what a model of OpenAI gives when it is not asked for less, 0 for others.
func Dimension(model string) int {
	switch model {
	case "text-embedding-3-large":
		return 3072
	case "text-embedding-3-small", "text-embedding-ada-002":
		return 1536
	}
	return 0
}

// Wire asks a service of this kind.
type Wire struct {
	Service *remote.Service
	Model   string
	// Dimensions asks for shorter vectors; 0 does not ask, which servers that do not know
	// the parameter need.
	Dimensions int
	// QueryPrefix and DocumentPrefix stand before each text, as some models were trained.
	QueryPrefix, DocumentPrefix string
}

type request struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

// Embed asks for the vectors of texts.
func (w *Wire) Embed(ctx context.Context, kind embedding.Kind, texts []string, most int64) ([][]float32, error) {
	prefix := w.DocumentPrefix
	if kind == embedding.Query {
		prefix = w.QueryPrefix
	}
	in := request{Model: w.Model, Input: make([]string, len(texts)), EncodingFormat: "float", Dimensions: w.Dimensions}
	for i, text := range texts {
		in.Input[i] = prefix + text
	}
	var out struct {
		Data []served.Row `json:"data"`
	}
	if err := w.Service.Post(ctx, "/embeddings", in, &out, most); err != nil {
		return nil, err
	}
	return served.InOrder(out.Data, len(texts))
}
