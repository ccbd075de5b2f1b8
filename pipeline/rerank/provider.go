package rerank

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/freshet/freshet/pipeline/remote"
	"github.com/freshet/freshet/store/secret"
)

// Kind is the API of a service.
type Kind string

// The kinds of provider.
const (
	Voyage     Kind = "voyage"
	Cohere     Kind = "cohere"
	Compatible Kind = "compatible"
)

// Kinds lists every kind.
func Kinds() []Kind { return []Kind{Voyage, Cohere, Compatible} }

// Limits bound what one call may send.
type Limits struct {
	// Documents is the most texts, Bytes the most of one, TotalBytes the most of all
	// together with the query.
	Documents, Bytes, TotalBytes int
}

// check returns why the texts exceed the limits, nil when they do not.
func (l Limits) check(query string, documents []string) error {
	if len(documents) > l.Documents {
		return fmt.Errorf("%d texts are more than the %d that it takes", len(documents), l.Documents)
	}
	total := len(query)
	for i, d := range documents {
		if len(d) > l.Bytes {
			return fmt.Errorf("text %d has %d bytes, more than the %d that it takes", i, len(d), l.Bytes)
		}
		total += len(d)
	}
	if total > l.TotalBytes {
		return fmt.Errorf("%d bytes are more than the %d that it takes", total, l.TotalBytes)
	}
	return nil
}

// Options describe a service.
type Options struct {
	Kind Kind
	// URL is the base address of the service, "" means the default of the kind.
	URL string
	// Model is the model's name, "" means the default of the kind.
	Model string
	Key   string
	// Timeout bounds a call, 0 means ten seconds. The caller's context is to end it earlier.
	Timeout time.Duration
	Now     func() time.Time // nil means time.Now
}

// Provider is the client of one service. It may be used from several goroutines.
type Provider struct {
	kind     Kind
	model    string
	service  *remote.Service
	limits   Limits
	dialects []dialect
	known    atomic.Int32 // the index of the dialect that was accepted last
}

// New returns a provider. It sends nothing.
func New(o Options) (*Provider, error) {
	if !slices.Contains(Kinds(), o.Kind) {
		return nil, fmt.Errorf("no kind of reranker is called %q", o.Kind)
	}
	address, model := Default(o.Kind)
	if o.URL == "" {
		o.URL = address
	}
	if o.Model == "" {
		o.Model = model
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	service, err := remote.New(remote.Options{URL: o.URL, Key: o.Key, Timeout: o.Timeout, Unlimited: true, Now: o.Now}) // a Resolver keeps to its limits
	if err != nil {
		return nil, err
	}
	return &Provider{kind: o.Kind, model: o.Model, service: service, limits: limits(o.Kind), dialects: dialects(o.Kind, o.URL)}, nil
}

// Limits are those of the service.
func (p *Provider) Limits() Limits { return p.limits }

// Local reports whether the service is on this machine.
func (p *Provider) Local() bool { return p.service.Local() }

// Host names the service.
func (p *Provider) Host() string { return p.service.Host() }

// String names kind, model and host.
func (p *Provider) String() string {
	name := string(p.kind)
	if p.model != "" {
		name += " " + p.model
	}
	return name + " at " + p.service.Host()
}

// Close closes idle connections.
func (p *Provider) Close() { p.service.Close() }

// answerBytes bounds an answer: some servers send each text back, escaped.
func answerBytes(query string, documents []string) int64 {
	most := 64<<10 + 6*len(query)
	for _, d := range documents {
		most += 1<<10 + 6*len(d)
	}
	return int64(most)
}

// Rerank returns the score of each document. It refuses texts beyond the limits. Its error is
// the context's when that ended, and wraps a *remote.Error when the exchange failed.
func (p *Provider) Rerank(ctx context.Context, query string, documents []string) ([]float64, error) {
	query, _ = secret.MaskFragment(query)
	documents = slices.Clone(documents)
	for i, text := range documents {
		documents[i], _ = secret.MaskFragment(text)
	}
	if err := p.limits.check(query, documents); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Host(), err)
	}
	first := int(p.known.Load())
	var failed error
	for i := range p.dialects {
		at := (first + i) % len(p.dialects)
		scores, err := p.ask(ctx, p.dialects[at], query, documents)
		if err == nil {
			p.known.Store(int32(at))
			return scores, nil
		}
		if failed == nil || !absent(err) {
			failed = err
		}
		if !misunderstood(err) {
			break
		}
	}
	return nil, failed
}

// ask sends a request in one dialect.
func (p *Provider) ask(ctx context.Context, t dialect, query string, documents []string) ([]float64, error) {
	var answer json.RawMessage
	err := p.service.Post(ctx, t.path, t.request(p.model, query, documents), &answer, answerBytes(query, documents))
	if err != nil {
		return nil, err
	}
	scores, err := readScores(answer, len(documents))
	if err != nil {
		return nil, &remote.Error{Host: p.Host(), Fault: remote.FaultService, Message: "the answer is of no use: " + err.Error()}
	}
	return scores, nil
}

// absent reports whether the service has no such path.
func absent(err error) bool {
	var refused *remote.Error
	return errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusMethodNotAllowed)
}

// misunderstood reports whether the service may accept another dialect.
func misunderstood(err error) bool {
	var refused *remote.Error
	return absent(err) || errors.As(err, &refused) &&
		(refused.Status == http.StatusBadRequest || refused.Status == http.StatusUnprocessableEntity)
}
