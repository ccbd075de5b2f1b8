package rerank

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/freshet/freshet/pipeline/remote"
)

// Policy decides when a service is called.
type Policy string

// The policies.
const (
	// PolicyAuto calls the service when it is on this machine, or source text is sent over the
	// network anyway; when its circuit breaker is closed; and when the texts are within its
	// limits.
	PolicyAuto Policy = "auto"
	// PolicyForce calls the service whenever the texts are within its limits.
	PolicyForce Policy = "force"
	// PolicyOff never asks.
	PolicyOff Policy = "off"
)

// Policies lists every policy.
func Policies() []Policy { return []Policy{PolicyAuto, PolicyForce, PolicyOff} }

// ResolverOptions of a Resolver.
type ResolverOptions struct {
	Policy Policy // "" means PolicyAuto
	// Deadline is the time after which an answer counts as late, 0 means 800 ms. The caller
	// enforces it.
	Deadline time.Duration
	// TextLeaves is set when source text is already sent over the network for embedding.
	TextLeaves bool
	Now        func() time.Time // nil means time.Now
}

// Resolver decides by its policy and its circuit breaker whether a provider is called. It may
// be used from several goroutines.
type Resolver struct {
	provider *Provider
	options  ResolverOptions

	mu      sync.Mutex
	breaker breaker // guarded by mu
}

// NewResolver returns a resolver over a provider.
func NewResolver(p *Provider, o ResolverOptions) *Resolver {
	if o.Policy == "" {
		o.Policy = PolicyAuto
	}
	if o.Deadline == 0 {
		o.Deadline = 800 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Resolver{provider: p, options: o, breaker: breaker{deadline: o.Deadline}}
}

// Rerank returns the score of each document, or as an error why the provider was not called
// or did not answer.
func (r *Resolver) Rerank(ctx context.Context, query string, documents []string) ([]float64, error) {
	if err := r.decide(query, documents); err != nil {
		return nil, err
	}
	begin := r.options.Now()
	scores, err := r.provider.Rerank(ctx, query, documents)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err() // the caller gave up, which is no failure of the service
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.options.Now()
	r.breaker.note(now.Sub(begin), err, now)
	return scores, err
}

// Standing returns why the provider would not be called now, nil when it would.
func (r *Resolver) Standing() error { return r.decide("", nil) }

func (r *Resolver) decide(query string, documents []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return facts{
		host: r.provider.Host(), local: r.provider.Local(), textLeaves: r.options.TextLeaves,
		waits: r.breaker.waits(r.options.Now()), slow: r.breaker.off(r.options.Now()),
		unfit: r.provider.limits.check(query, documents),
	}.refuse(r.options.Policy)
}

// facts are the inputs of the policy's decision.
type facts struct {
	host              string
	local, textLeaves bool
	waits             error // the service asked to be left alone
	slow              error // its last answers were late or none
	unfit             error // it does not take the texts
}

// refuse returns why a service is not called under a policy, nil when it is.
func (f facts) refuse(p Policy) error {
	switch {
	case p == PolicyOff:
		return errors.New("the policy is off")
	case f.unfit != nil:
		return fmt.Errorf("%s is not asked: %w", f.host, f.unfit)
	case f.waits != nil:
		return fmt.Errorf("%s is not asked: %w", f.host, f.waits)
	case p == PolicyForce:
		return nil
	case !f.local && !f.textLeaves:
		return fmt.Errorf("%s is not asked: it is not on this machine, and no source text leaves it otherwise; "+
			"FRESHET_RERANKER_POLICY=force sends the best hits' texts there, off ends this warning", f.host)
	case f.slow != nil:
		return fmt.Errorf("%s is not asked: %w", f.host, f.slow)
	}
	return nil
}

// The constants of the circuit breaker.
const (
	offTime     = time.Minute
	maxFailures = 3 // in a row
	smoothing   = 4 // a call's share of the average is one in so many
)

// breaker is the circuit breaker of a service: it opens after failures in a row, or when the
// moving average of the latency exceeds the deadline, and closes after a pause.
type breaker struct {
	deadline time.Duration
	// average is an exponential moving average of the latency. It begins at 0, so that one
	// slow call, of a model that had to be loaded, does not open the breaker.
	average  time.Duration
	failures int // in a row
	offUntil time.Time
	why      error
	waitTill time.Time
}

// note records a call. A call that timed out counts as twice the deadline; one that failed
// otherwise does not change the average.
func (p *breaker) note(took time.Duration, err error, now time.Time) {
	var refused *remote.Error
	switch late := errors.Is(err, context.DeadlineExceeded); {
	case err == nil:
		p.failures = 0
		p.average += (took - p.average) / smoothing
	case late:
		p.failures++
		p.average += (2*p.deadline - p.average) / smoothing
	default:
		p.failures++
		if errors.As(err, &refused) && refused.RetryAfter > 0 {
			p.waitTill = now.Add(refused.RetryAfter)
		}
	}
	switch {
	case p.failures >= maxFailures:
		p.rest(now, fmt.Errorf("the last %d calls failed, the last one: %w", p.failures, err))
	case p.average > p.deadline:
		p.rest(now, fmt.Errorf("its last calls took %v and more, the deadline is %v", p.average.Round(time.Millisecond), p.deadline))
		p.average = 0 // measured again after the pause
	}
}

func (p *breaker) rest(now time.Time, why error) { p.offUntil, p.why = now.Add(offTime), why }

// off returns why the breaker is open, nil when it is closed.
func (p *breaker) off(now time.Time) error {
	if !now.Before(p.offUntil) {
		return nil
	}
	return fmt.Errorf("%w; it is asked again in %v", p.why, p.offUntil.Sub(now).Round(time.Second))
}

// waits returns an error while the delay that the service asked for lasts, nil otherwise.
func (p *breaker) waits(now time.Time) error {
	if !now.Before(p.waitTill) {
		return nil
	}
	return fmt.Errorf("it asked to wait %v more", p.waitTill.Sub(now).Round(time.Second))
}
