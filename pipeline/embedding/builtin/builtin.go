// Package builtin is the embedding provider that needs nothing: no network, no model file,
// no runtime. A text's vector is the sum over its distinct sub-words of (1 + ln tf) times a
// pseudo-random sparse row of the word, normalised: a very sparse random projection (Li,
// Hastie and Church, "Very sparse random projections", KDD 2006) of the text's bag of
// words, in which inner products are kept in expectation.
package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
)

// The shape of the projection.
const (
	// Dimension is that of every vector.
	Dimension = 256
	// rowWeight is how many components of a word's row are +1 or -1.
	rowWeight = 16
	// pathWords is how many words of a path count, from its end.
	pathWords = 12
	// seed makes the rows; another seed is another model.
	seed = 0x66726573686574
)

// Provider is the built-in provider. Its zero value is not usable; call New. It may be
// used from several goroutines.
type Provider struct {
	recipe   store.EmbeddingRecipe
	scratch  sync.Pool // of *bag
	logTable [64]float32
}

var (
	_ embedding.Provider     = (*Provider)(nil)
	_ embedding.PathEmbedder = (*Provider)(nil)
)

// New returns the provider.
func New() *Provider {
	p := &Provider{recipe: store.EmbeddingRecipe{
		Provider:      "builtin",
		Model:         "projection-256",
		Artifact:      artifact(),
		Dimension:     Dimension,
		Normalization: "l2",
	}}
	p.scratch.New = func() any { return newBag() }
	for tf := range p.logTable {
		p.logTable[tf] = float32(1 + math.Log(float64(max(tf, 1))))
	}
	return p
}

// artifact digests what the vectors are made from beside the text: the parameters and the
// rows of a few words, so that a change of either is a change of the recipe.
func artifact() string {
	h := sha256.New()
	h.Write(fmt.Appendf(nil, "sparse projection, dimension %d, row weight %d, seed %x, lexical %s, path words %d\n",
		Dimension, rowWeight, uint64(seed), lexical.Version, pathWords))
	for _, word := range []string{"server", "close", "batch"} {
		var v [Dimension]float32
		addRow(&v, xxhash.Sum64String(word), 1)
		for _, x := range v {
			h.Write(fmt.Appendf(nil, "%g ", x))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Recipe is the provider's part of the recipe.
func (p *Provider) Recipe() store.EmbeddingRecipe { return p.recipe }

// Limits bound one call; they only keep the memory of a batch small.
func (p *Provider) Limits() embedding.Limits {
	return embedding.Limits{BatchTexts: 1024, BatchBytes: 4 << 20, Concurrency: 1}
}

// Embed returns one vector for each text. Queries and documents are embedded alike.
func (p *Provider) Embed(ctx context.Context, _ embedding.Kind, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	b := p.scratch.Get().(*bag)
	defer p.scratch.Put(b)
	for i, text := range texts {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		b.reset()
		b.scanner.Reset([]byte(text))
		for b.scanner.Next() {
			b.add(xxhash.Sum64(b.scanner.Token()))
		}
		out[i] = p.vector(b)
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

// PathVector returns the vector of the last words of a path.
func (p *Provider) PathVector(path string) []float32 {
	words := lexical.PathTokens(path)
	words = words[max(0, len(words)-pathWords):]
	b := p.scratch.Get().(*bag)
	defer p.scratch.Put(b)
	b.reset()
	for _, w := range words {
		b.add(xxhash.Sum64String(w))
	}
	return p.vector(b)
}

// vector sums the rows of a bag in the order in which its words were first seen, so that
// the same text gives the same bits.
func (p *Provider) vector(b *bag) []float32 {
	var sum [Dimension]float32
	for _, slot := range b.order {
		tf := min(int(b.counts[slot]), len(p.logTable)-1)
		addRow(&sum, b.hashes[slot], p.logTable[tf])
	}
	var norm float64
	for _, x := range sum {
		norm += float64(float64(x) * float64(x)) // the conversion forbids a fused multiply-add
	}
	out := make([]float32, Dimension)
	if norm == 0 {
		return out
	}
	inverse := 1 / math.Sqrt(norm)
	for i, x := range sum {
		out[i] = float32(float64(x) * inverse)
	}
	return out
}

// addRow adds a multiple of a word's row: each pair of bytes of a SplitMix64 stream names
// a component and its sign (Steele, Lea and Flood, OOPSLA 2014).
func addRow(sum *[Dimension]float32, word uint64, weight float32) {
	state := word ^ seed
	for i := 0; i < rowWeight; i += 4 {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		for range 4 {
			if z>>8&1 == 0 {
				sum[uint8(z)] += weight
			} else {
				sum[uint8(z)] -= weight
			}
			z >>= 16
		}
	}
}
