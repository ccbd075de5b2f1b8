package host

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

func (o Options) openProvider(ctx context.Context) (embedding.Querier, error) {
	if o.Provider == nil {
		return builtin.New(), nil
	}
	return o.Provider(ctx, o.Home)
}

// providerWaits says for how long no text is sent to the embedding provider, and why; "" when
// texts are sent.
func (h *Host) providerWaits() string {
	w, ok := h.provider.(embedding.Waiter)
	if !ok {
		return ""
	}
	wait, why := w.Waiting()
	if wait <= 0 {
		return ""
	}
	return fmt.Sprintf("waiting %v for the embedding provider: %s", max(wait.Round(time.Second), time.Second), why)
}

// limits warns that the vectors of what is behind wait for the provider.
func (h *Host) limits() []search.Warning {
	waits := h.providerWaits()
	if waits == "" {
		return nil
	}
	return []search.Warning{{Code: "provider_waits", Message: "embedding is " + waits + "; what is embedded already is kept, and the rest follows by itself"}}
}

// closeProvider closes what a provider over a network keeps open.
func closeProvider(p embedding.Provider) {
	if c, ok := p.(interface{ Close() }); ok {
		c.Close()
	}
}

// kept is a provider over a network for a rebuild that is compared and thrown away: it asks
// the service only for what the live store lacks. It copies what that has into the store of
// the rebuild, whose first vector for a text stays: quantised floats would not give the
// same bytes again.
type kept struct {
	embedding.Querier
	live, rebuilt store.Store
}

// thrifty returns the provider that a rebuild into a store uses.
func (k kit) thrifty(rebuilt store.Store) embedding.Querier {
	if _, local := k.provider.(embedding.PathEmbedder); local || k.live == nil {
		return k.provider
	}
	return kept{k.provider, k.live, rebuilt}
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
