package scratch

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// kept is a provider over a network for a rebuild that is compared and thrown away: it asks
// the service only for what the live store lacks. It copies what that has into the store of
// the rebuild, whose first vector for a text stays: quantised floats would not give the
// same bytes again.
type kept struct {
	embedding.Querier
	live, rebuilt store.Store
}

// provider returns the provider that an index in a store uses.
func (p Parts) provider(rebuilt store.Store) embedding.Querier {
	if _, local := p.Provider.(embedding.PathEmbedder); local || p.Live == nil {
		return p.Provider
	}
	return kept{p.Provider, p.Live, rebuilt}
}

// Embed returns the vectors of the live store, and those of the service for the rest.
func (k kept) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	if kind != embedding.Document {
		return k.Querier.Embed(ctx, kind, texts)
	}
	hashes := make([]merkle.Hash, len(texts))
	for i, text := range texts {
		hashes[i] = sha256.Sum256([]byte(text))
	}
	key := k.Recipe().Key()
	have, err := k.live.Vectors(ctx, key, hashes)
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	var records []store.VectorRecord
	for h, v := range have {
		records = append(records, store.VectorRecord{TextHash: h, Vector: v})
	}
	if err := k.rebuilt.PutVectors(ctx, key, records, nil); err != nil {
		return nil, fmt.Errorf("copy vectors: %w", err)
	}
	out := make([][]float32, len(texts))
	var rest []string
	var places []int
	for i, h := range hashes {
		if v, ok := have[h]; ok {
			out[i] = v.Floats()
			continue
		}
		rest, places = append(rest, texts[i]), append(places, i)
	}
	if len(rest) == 0 {
		return out, nil
	}
	made, err := k.Querier.Embed(ctx, kind, rest)
	if made == nil && err != nil {
		return nil, err
	}
	if len(made) != len(rest) {
		return nil, fmt.Errorf("%w: %d vectors for %d texts", embedding.ErrRejected, len(made), len(rest))
	}
	for i, v := range made {
		out[places[i]] = v
	}
	return out, err
}
