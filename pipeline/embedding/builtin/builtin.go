// Package builtin is the embedding provider that needs nothing: no network, no file, no
// runtime. A text's vector is the sum of the trained rows of its distinct sub-words, each
// times (1 + ln tf), normalised. The table of rows is a part of the binary and is read
// where it lies (package table); command train makes it.
package builtin

import (
	"context"
	"fmt"
	"sync"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin/table"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
)

// pathWords is how many words of a path count, from its end.
const pathWords = 12

// Provider is the built-in provider. Its zero value is not usable; call New. It may be
// used from several goroutines. The table is opened when the first text is embedded.
type Provider struct {
	recipe store.EmbeddingRecipe
	open   func() (*table.Table, error) // once
	pools  sync.Pool                    // of *table.Pool
}

var (
	_ embedding.Provider     = (*Provider)(nil)
	_ embedding.PathEmbedder = (*Provider)(nil)
)

// New returns the provider of the model in the binary.
func New() *Provider {
	c := ShippedCard()
	return NewModel(c, shippedTable)
}

// NewModel returns the provider of another model, whose card must be its own.
func NewModel(c Card, data string) *Provider {
	return &Provider{
		recipe: store.EmbeddingRecipe{
			Provider:      "builtin",
			Model:         fmt.Sprintf("table-%d", c.Dimension),
			Artifact:      c.Artifact,
			Dimension:     c.Dimension,
			Normalization: "l2",
		},
		open: sync.OnceValues(func() (*table.Table, error) { return table.Open(data) }),
	}
}

// Recipe is the provider's part of the recipe.
func (p *Provider) Recipe() store.EmbeddingRecipe { return p.recipe }

// Limits bound one call; they only keep the memory of a batch small.
func (p *Provider) Limits() embedding.Limits {
	return embedding.Limits{BatchTexts: 1024, BatchBytes: 4 << 20, Concurrency: 1}
}

// Embed returns one vector for each text. Documents and queries may weigh words
// differently; they share the rows.
func (p *Provider) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	pool, err := p.pool()
	if err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	defer p.pools.Put(pool)
	side := table.Document
	if kind == embedding.Query {
		side = table.Query
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		pool.Add([]byte(text))
		out[i] = pool.Vector(side)
	}
	return out, nil
}

// EmbedQuery returns the vector of one query.
func (p *Provider) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	vectors, err := p.Embed(ctx, embedding.Query, []string{text})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// PathVector returns the vector of the last words of a path, or nil when the table is
// malformed, which Embed reports.
func (p *Provider) PathVector(path string) []float32 {
	pool, err := p.pool()
	if err != nil {
		return nil
	}
	defer p.pools.Put(pool)
	words := lexical.PathTokens(path)
	for _, word := range words[max(0, len(words)-pathWords):] {
		pool.AddWord([]byte(word))
	}
	return pool.Vector(table.Document)
}

func (p *Provider) pool() (*table.Pool, error) {
	if pool, ok := p.pools.Get().(*table.Pool); ok {
		return pool, nil
	}
	t, err := p.open()
	if err != nil {
		return nil, fmt.Errorf("open the built-in model: %w", err)
	}
	return table.NewPool(t), nil
}
