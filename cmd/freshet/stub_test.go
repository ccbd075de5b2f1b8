package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/freshet/freshet/cmd/worker"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
)

// The environment in which the test binary is a worker whose provider is a stub elsewhere,
// as a model of another name where the second is set.
const (
	asWorker    = "FRESHET_TEST_AS_WORKER"
	workerModel = "FRESHET_TEST_MODEL"
)

// stub is an embedding provider behind the wire format of OpenAI's embeddings. It answers
// with the vectors of the built-in model after the time that a service takes, and counts
// what it is asked for, whoever asks and whatever becomes of the answer.
type stub struct {
	server *httptest.Server
	model  *builtin.Provider

	mu       sync.Mutex // guards what follows
	texts    int
	distinct map[string]bool
}

// stubTakes is how long a stub takes to answer a request.
const stubTakes = 50 * time.Millisecond

type embeddingRequest struct {
	Model string   `json:"model"`
	Input []string `json:"input"`
}

type embeddingAnswer struct {
	Data []embeddingItem `json:"data"`
}

type embeddingItem struct {
	Index     int       `json:"index"`
	Embedding []float32 `json:"embedding"`
}

func newStub(t *testing.T) *stub {
	s := &stub{model: builtin.New(), distinct: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/embeddings", s.embed)
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	return s
}

func (s *stub) embed(w http.ResponseWriter, r *http.Request) {
	var request embeddingRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.texts += len(request.Input)
	for _, text := range request.Input {
		s.distinct[text] = true
	}
	s.mu.Unlock()
	timer := time.NewTimer(stubTakes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	vectors, err := s.model.Embed(r.Context(), embedding.Document, request.Input)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var answer embeddingAnswer
	for i, v := range vectors {
		answer.Data = append(answer.Data, embeddingItem{i, v})
	}
	_ = json.NewEncoder(w).Encode(answer) // who asked may be gone
}

// counts returns how many texts were asked for, and how many different ones.
func (s *stub) counts() (texts, distinct int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts, len(s.distinct)
}

// remote is the built-in model, asked for over the network.
type remote struct {
	*builtin.Provider
	url, model string
}

// Recipe is the built-in model's, unless it goes by another name.
func (r remote) Recipe() store.EmbeddingRecipe {
	recipe := r.Provider.Recipe()
	if r.model != "" {
		recipe.Model = r.model
	}
	return recipe
}

// Limits keep a request small.
func (remote) Limits() embedding.Limits {
	return embedding.Limits{BatchTexts: 32, BatchBytes: 1 << 20, Concurrency: 2}
}

// Embed asks the stub.
func (r remote) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	if kind == embedding.Query {
		return r.Provider.Embed(ctx, kind, texts)
	}
	body, err := json.Marshal(embeddingRequest{Model: r.Recipe().Model, Input: texts})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, &embedding.Unavailable{Err: err}
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, &embedding.Unavailable{Err: errors.New(response.Status)}
	}
	var answer embeddingAnswer
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, &embedding.Unavailable{Err: err}
	}
	vectors := make([][]float32, len(texts))
	for _, item := range answer.Data {
		vectors[item.Index] = item.Embedding
	}
	return vectors, nil
}

// workWithStub is the worker of the test binary, with every role.
func workWithStub(url string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// A chunk child is a freshet again.
	err = errors.Join(os.Unsetenv(asWorker), os.Setenv(asFreshet, "1"))
	if err == nil {
		err = worker.Run(ctx, worker.Options{
			Cluster: settings(), ChunkCommand: []string{self, chunkChild}, Health: "127.0.0.1:0",
			Provider: remote{builtin.New(), url, os.Getenv(workerModel)}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		}, func(health string) { fmt.Println("working at", health) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
