// Package ollama speaks the API of Ollama: POST {address}/api/embed, and GET
// {address}/api/tags for the digest of a model's weights.
package ollama

import (
	"context"
	"fmt"
	"strings"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/remote"
)

// URL is where Ollama listens on the machine that it runs on.
const URL = "http://127.0.0.1:11434"

// Limits keep a batch short: the usual server computes on one machine, one batch at a time.
func Limits() embedding.Limits {
	return embedding.Limits{BatchTexts: 32, BatchBytes: 128 << 10, Concurrency: 1}
}

// Wire asks a server.
type Wire struct {
	Service                     *remote.Service
	Model                       string
	Dimensions                  int    // 0 takes the model's own
	QueryPrefix, DocumentPrefix string // stand before each text
}

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Truncate   bool     `json:"truncate"`
	Dimensions int      `json:"dimensions,omitempty"`
}

// Embed asks for the vectors of texts.
func (w *Wire) Embed(ctx context.Context, kind embedding.Kind, texts []string, most int64) ([][]float32, error) {
	prefix := w.DocumentPrefix
	if kind == embedding.Query {
		prefix = w.QueryPrefix
	}
	in := request{Model: w.Model, Input: make([]string, len(texts)), Truncate: true, Dimensions: w.Dimensions}
	for i, text := range texts {
		in.Input[i] = prefix + text
	}
	var out struct {
		Embeddings [][]float32 `json:"embeddings"`
	}
	if err := w.Service.Post(ctx, "/api/embed", in, &out, most); err != nil {
		return nil, err
	}
	return out.Embeddings, nil
}

// tagBytes bounds the list of a server's models.
const tagBytes = 4 << 20

// Digest is that of the weights which the server has for a model.
func Digest(ctx context.Context, service *remote.Service, model string) (string, error) {
	var out struct {
		Models []struct {
			Name   string `json:"name"`
			Digest string `json:"digest"`
		} `json:"models"`
	}
	if err := service.Get(ctx, "/api/tags", &out, tagBytes); err != nil {
		return "", fmt.Errorf("list the models: %w", err)
	}
	name := model
	if !strings.Contains(name, ":") {
		name += ":latest"
	}
	for _, m := range out.Models {
		if m.Name == name && m.Digest != "" {
			return m.Digest, nil
		}
	}
	return "", &remote.Error{Host: service.Host(), Fault: remote.FaultSettings, Message: fmt.Sprintf("has no model %s: ollama pull %s", model, model)}
}
