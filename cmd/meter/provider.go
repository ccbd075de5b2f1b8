package meter

import (
	"context"
	"errors"
	"time"

	"github.com/freshet/freshet/pipeline/embedding"
)

// Provider returns a provider that counts the calls of another. It embeds paths if the
// other does.
func (m *Meter) Provider(p embedding.Provider) embedding.Provider {
	counted := provider{Provider: p, meter: m}
	if paths, ok := p.(embedding.PathEmbedder); ok {
		return localProvider{provider: counted, PathEmbedder: paths}
	}
	return counted
}

type provider struct {
	embedding.Provider
	meter *Meter
}

type localProvider struct {
	provider
	embedding.PathEmbedder
}

// Embed calls the provider and counts it.
func (p provider) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	began := time.Now()
	vectors, err := p.Provider.Embed(ctx, kind, texts)
	outcome := "ok"
	switch {
	case err == nil:
	case ctx.Err() != nil:
		outcome = "cancelled"
	case away(err):
		outcome = "unavailable"
	case errors.Is(err, embedding.ErrRejected):
		outcome = "rejected"
	default:
		outcome = "failed"
	}
	p.meter.calls.WithLabelValues(outcome).Inc()
	p.meter.texts.Add(float64(len(texts)))
	p.meter.embedding.Observe(time.Since(began).Seconds())
	return vectors, err
}

func away(err error) bool {
	var unavailable *embedding.Unavailable
	return errors.As(err, &unavailable)
}
