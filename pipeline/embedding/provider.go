package embedding

import (
	"context"
	"errors"
	"time"

	"github.com/freshet/freshet/store"
)

// Kind says what a text is for; some models embed queries and documents differently.
type Kind uint8

// The kinds of text.
const (
	Document Kind = iota
	Query
)

// Limits bound one call of a provider.
type Limits struct {
	// BatchTexts and BatchBytes are the most texts and bytes of one call, both at least 1.
	BatchTexts, BatchBytes int
	// Concurrency is the most calls at once, at least 1.
	Concurrency int
	// Paid says that a call costs money or much time: vectors are stored as soon as they are
	// there, and what one loss may cost is bounded by how many texts are sent at once.
	Paid bool
}

// MaxDimension is the most that a vector may have.
const MaxDimension = 8192

// Provider turns texts into vectors. It may be called from several goroutines.
type Provider interface {
	// Recipe is the provider's part of the recipe. It never changes for a provider.
	Recipe() store.EmbeddingRecipe
	Limits() Limits
	// Embed returns one unit vector of Recipe().Dimension for each text, in order, all
	// finite. A text without any known word gives a zero vector. The same text gives the
	// same vector, bit for bit, when the provider is local. An error without vectors speaks of
	// the whole batch; with vectors, of those texts only whose vector is nil. See Unavailable
	// and ErrRejected for what the caller does about it.
	Embed(ctx context.Context, kind Kind, texts []string) ([][]float32, error)
}

// Querier is a provider that embeds the queries of searches too: with a bound on time, and
// without asking twice for the same text where asking is dear.
type Querier interface {
	Provider
	EmbedQuery(ctx context.Context, text string) ([]float32, error)
}

// Waiter is a provider over a network that may have to wait before it can send texts.
type Waiter interface {
	// Waiting returns for how long no text is sent because of the limits of the service or
	// because it fails, and why; 0 when texts are sent.
	Waiting() (time.Duration, string)
}

// PathEmbedder is implemented by local providers: PathVector is the unit vector of the
// words of a path, which is combined with each chunk's vector when a segment is built, so
// that a rename embeds nothing. It is a pure function.
type PathEmbedder interface {
	PathVector(path string) []float32
}

// Unavailable is an error of a provider that may answer later: an outage never counts as a
// try. RetryAfter is 0 when the provider did not say.
type Unavailable struct {
	RetryAfter time.Duration
	// Lost says that the texts were sent and may have been embedded, and paid for: no answer
	// came back.
	Lost bool
	Err  error
}

// Error returns the cause.
func (u *Unavailable) Error() string { return "embedding provider unavailable: " + u.Err.Error() }

// Unwrap returns the cause.
func (u *Unavailable) Unwrap() error { return u.Err }

// ErrRejected is wrapped by errors about the texts themselves: it counts as a try.
var ErrRejected = errors.New("embedding provider rejected the texts")

// Close closes what a provider over a network keeps open. A nil provider keeps nothing.
func Close(p Provider) {
	if c, ok := p.(interface{ Close() }); ok {
		c.Close()
	}
}
