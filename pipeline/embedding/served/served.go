// Package served is what every embedding provider over a network has in common: it clips
// texts, keeps empty ones to itself, takes of a reply what is a vector of the recipe,
// normalises, remembers the vectors of recent queries, and tells an outage from a refusal. How a service is spoken to is the business of a Wire.
package served

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/remote"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/secret"
)

// Wire speaks the language of one service.
type Wire interface {
	// Embed asks for the vectors of texts, none of which is empty, and returns them in their
	// order. A row that the service left out is nil. When the answer has another number of rows
	// than there are texts, and does not tell which is whose, it is returned as it is. An answer
	// of more than most bytes is refused.
	Embed(ctx context.Context, kind embedding.Kind, texts []string, most int64) ([][]float32, error)
}

// Options describe a provider.
type Options struct {
	Wire    Wire
	Service *remote.Service
	// Name and Model go into the recipe.
	Name, Model string
	// Artifact identifies the weights where the service tells, "" where it does not.
	Artifact string
	// Dimension is what the service gives; it must be known.
	Dimension int
	// Shape is every setting that changes the vectors: prefixes, task types. Its digest goes
	// into the recipe.
	Shape  []string
	Limits embedding.Limits
	// TextBytes is where a text is clipped, 0 means 24 KiB: what services of 8,192 tokens
	// take of source code.
	TextBytes int
	// QueryTimeout bounds the embedding of a query, 0 means two seconds: an answer by words
	// is better than none.
	QueryTimeout time.Duration
}

// keptQueries is the size of the cache of query vectors: an agent pages through an answer,
// and asks the same again after an edit.
const keptQueries = 64

// The defaults of Options.
const (
	defaultTextBytes    = 24 << 10
	defaultQueryTimeout = 2 * time.Second
)

// Provider is an embedding provider over a network. It may be used from several goroutines.
type Provider struct {
	opts    Options
	recipe  store.EmbeddingRecipe
	queries *lru.Cache[string, []float32] // the vectors of recent queries
}

// New returns a provider. It sends nothing.
func New(o Options) (*Provider, error) {
	if o.Dimension < 1 || o.Dimension > embedding.MaxDimension {
		return nil, fmt.Errorf("model %s gives %d dimensions: want 1 to %d", o.Model, o.Dimension, embedding.MaxDimension)
	}
	if o.TextBytes == 0 {
		o.TextBytes = defaultTextBytes
	}
	if o.QueryTimeout == 0 {
		o.QueryTimeout = defaultQueryTimeout
	}
	queries, err := lru.New[string, []float32](keptQueries)
	if err != nil {
		return nil, err
	}
	return &Provider{opts: o, queries: queries, recipe: store.EmbeddingRecipe{
		Provider: o.Name, Model: o.Model, Artifact: digest(append([]string{o.Artifact, "mask " + secret.Version}, o.Shape...)),
		Dimension: o.Dimension, Normalization: "l2",
	}}, nil
}

// digest identifies what decides the vectors beside the model's name.
func digest(parts []string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(fmt.Appendf(nil, "%d:%s", len(p), p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Recipe is the provider's part of the recipe.
func (p *Provider) Recipe() store.EmbeddingRecipe { return p.recipe }

// Limits bound one call.
func (p *Provider) Limits() embedding.Limits {
	l := p.opts.Limits
	l.Paid = true
	return l
}

// Local reports whether the service is on this machine.
func (p *Provider) Local() bool { return p.opts.Service.Local() }

// Host names the service.
func (p *Provider) Host() string { return p.opts.Service.Host() }

// Waiting returns for how long no text is sent because of the limits of the service or
// because it fails, and why; 0 when texts are sent.
func (p *Provider) Waiting() (time.Duration, string) { return p.opts.Service.Waiting() }

// Close closes idle connections.
func (p *Provider) Close() { p.opts.Service.Close() }

// Embed returns one vector for each text. A text of nothing but white space is not sent and
// gives a zero vector. Texts whose row is missing or no vector have nil, and the error says
// why.
func (p *Provider) Embed(ctx context.Context, kind embedding.Kind, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var sent []string
	var places []int
	out := make([][]float32, len(texts))
	for i, text := range texts {
		text, _ = secret.MaskFragment(text) // whole: a credential that was cut is not known
		if text = clip(text, p.opts.TextBytes); strings.TrimSpace(text) == "" {
			out[i] = make([]float32, p.opts.Dimension)
			continue
		}
		sent, places = append(sent, text), append(places, i)
	}
	if len(sent) == 0 {
		return out, nil
	}
	if kind == embedding.Query {
		ctx = remote.Urgent(ctx)
	}
	rows, err := p.opts.Wire.Embed(ctx, kind, sent, answerBytes(len(sent), p.opts.Dimension))
	if err != nil {
		return nil, p.blame(ctx, err)
	}
	if len(rows) != len(sent) {
		return nil, fmt.Errorf("%w: %s gave %d vectors for %d texts", embedding.ErrRejected, p.Host(), len(rows), len(sent))
	}
	var bad error
	good := len(out) - len(sent)
	for i, row := range rows {
		var unavailable *embedding.Unavailable
		err := p.normalize(row)
		switch {
		case errors.As(err, &unavailable):
			return nil, err
		case err != nil:
			bad = err
		default:
			out[places[i]] = row
			good++
		}
	}
	if good == 0 {
		return nil, bad
	}
	return out, bad
}

// answerBytes bounds the answer to a request: a number in JSON takes 24 bytes at most.
func answerBytes(texts, dimension int) int64 { return int64(texts)*(int64(dimension)*26+1024) + 64<<10 }

// clip cuts a text at a rune and drops what is not UTF-8, which services refuse.
func clip(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}

// normalize checks a row and gives it the length 1.
func (p *Provider) normalize(row []float32) error {
	if row == nil {
		return fmt.Errorf("%w: %s gave no vector for a text", embedding.ErrRejected, p.Host())
	}
	if len(row) != p.opts.Dimension {
		return &embedding.Unavailable{Err: fmt.Errorf("%s gives vectors of %d dimensions, the index has %d: the model behind the name %s is another one",
			p.Host(), len(row), p.opts.Dimension, p.opts.Model)}
	}
	var sum float64
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return fmt.Errorf("%w: %s gave a vector that is empty or not finite", embedding.ErrRejected, p.Host())
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range row {
		row[i] = float32(float64(x) * scale)
	}
	return nil
}

// settingsDelay is the time between tries while the operator's settings are wrong.
const settingsDelay = 30 * time.Second

// blame turns an error of the service into one that the caller can act on.
func (p *Provider) blame(ctx context.Context, err error) error {
	var e *remote.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &e):
		return fmt.Errorf("%w: %w", embedding.ErrRejected, err)
	case e.Fault == remote.FaultRequest:
		return fmt.Errorf("%w: %w", embedding.ErrRejected, err)
	case e.Fault == remote.FaultSettings:
		return &embedding.Unavailable{RetryAfter: settingsDelay, Err: err}
	}
	return &embedding.Unavailable{RetryAfter: e.RetryAfter, Lost: e.Lost, Err: err}
}

// EmbedQuery returns the vector of one query, within the time that a query has. The vectors
// of recent queries are remembered.
func (p *Provider) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	if v, ok := p.queries.Get(text); ok {
		return slices.Clone(v), nil
	}
	timed, cancel := context.WithTimeoutCause(ctx, p.opts.QueryTimeout, errSlow)
	defer cancel()
	vectors, err := p.Embed(timed, embedding.Query, []string{text})
	if err != nil {
		if ctx.Err() == nil && timed.Err() != nil {
			return nil, fmt.Errorf("%s: %w of %v", p.Host(), errSlow, p.opts.QueryTimeout)
		}
		return nil, err
	}
	p.queries.Add(text, slices.Clone(vectors[0]))
	return vectors[0], nil
}

var errSlow = errors.New("no vector within the time")
