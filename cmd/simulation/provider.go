package simulation

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
)

// dimension is that of the simulated vectors.
const dimension = 8

// provider makes a vector of a text's digest. It has outages and a rate limit.
type provider struct{ world *world }

var (
	_ embedding.Provider     = provider{}
	_ embedding.PathEmbedder = provider{}
)

// Recipe is the provider's part of the recipe.
func (provider) Recipe() store.EmbeddingRecipe {
	return store.EmbeddingRecipe{Provider: "simulated", Model: "digest", Dimension: dimension, Normalization: "l2"}
}

// Limits make an event more than one call.
func (provider) Limits() embedding.Limits {
	return embedding.Limits{BatchTexts: 4, BatchBytes: 64 << 10, Concurrency: 2}
}

// Embed fails while the provider is away, over its limit, and for a poisonous text.
func (p provider) Embed(ctx context.Context, _ embedding.Kind, texts []string) ([][]float32, error) {
	if err := p.world.pace(ctx, "embed "+texts[0]); err != nil {
		return nil, err
	}
	if wait := p.world.unavailable(); wait > 0 {
		return nil, &embedding.Unavailable{RetryAfter: wait, Err: errors.New("simulated limit")}
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if strings.Contains(text, "rejected") {
			return nil, fmt.Errorf("%w: poison", embedding.ErrRejected)
		}
		vectors[i] = vectorOf(text)
	}
	return vectors, nil
}

// PathVector is the vector of a path.
func (provider) PathVector(path string) []float32 { return vectorOf(path) }

// EmbedQuery is the vector of a query.
func (provider) EmbedQuery(_ context.Context, text string) ([]float32, error) {
	return vectorOf(text), nil
}

// vectorOf is a unit vector.
func vectorOf(text string) []float32 {
	sum := sha256.Sum256([]byte(text))
	vector, norm := make([]float32, dimension), 0.0
	for i := range vector {
		vector[i] = float32(sum[i]) - 127.5
		norm += float64(vector[i]) * float64(vector[i])
	}
	for i := range vector {
		vector[i] /= float32(math.Sqrt(norm))
	}
	return vector
}

// unavailable returns how long a caller is to wait, 0 when the provider answers.
func (w *world) unavailable() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if away := w.awayUntil.Sub(now); away > 0 {
		return min(away, 500*time.Millisecond)
	}
	if wait := w.nextCall.Sub(now); wait > 0 {
		return wait
	}
	w.nextCall = now.Add(w.everyCall)
	return 0
}
