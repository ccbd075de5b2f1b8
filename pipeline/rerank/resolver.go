package rerank

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/freshet/freshet/pipeline/remote"
)

// Policy says when a service is asked.
type Policy string

// The policies.
const (
	// PolicyAuto asks when the service is on this machine, or source text leaves it anyway;
	// when its last answers came in time; and when it takes the texts.
	PolicyAuto Policy = "auto"
	// PolicyForce asks whenever the service takes the texts.
	PolicyForce Policy = "force"
	// PolicyOff never asks.
	PolicyOff Policy = "off"
)

// Policies lists every policy.
func Policies() []Policy { return []Policy{PolicyAuto, PolicyForce, PolicyOff} }

// ResolverOptions of a Resolver.
type ResolverOptions struct {
	Policy Policy // "" means PolicyAuto
	// Deadline is within which an answer is of use, 0 means 800 ms. Whoever asks keeps it.
	Deadline time.Duration
	// TextLeaves says that source text is sent over the network already, to be embedded.
	TextLeaves bool
	Now        func() time.Time // nil means time.Now
}

// Resolver decides by its policy whether a provider is asked. It may be used from several
// goroutines.
type Resolver struct {
	provider *Provider
	options  ResolverOptions

	mu      sync.Mutex
	profile profile // guarded by mu
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
	return &Resolver{provider: p, options: o, profile: profile{deadline: o.Deadline}}
}

// Rerank returns the score of each document, or why the provider was not asked, or why it
// did not answer.
func (r *Resolver) Rerank(ctx context.Context, query string, documents []string) ([]float64, error) {
	if err := r.decide(query, documents); err != nil {
		return nil, err
	}
	begin := r.options.Now()
	scores, err := r.provider.Rerank(ctx, query, documents)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err() // nobody waits any more, which says nothing of the service
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.options.Now()
	r.profile.note(now.Sub(begin), err, now)
	return scores, err
}

// Standing says in a line why the provider would not be asked, nil when it would.
func (r *Resolver) Standing() error { return r.decide("", nil) }

func (r *Resolver) decide(query string, documents []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return facts{
		host: r.provider.Host(), local: r.provider.Local(), textLeaves: r.options.TextLeaves,
		waits: r.profile.waits(r.options.Now()), slow: r.profile.off(r.options.Now()),
		unfit: r.provider.limits.check(query, documents),
	}.refuse(r.options.Policy)
}

// facts are what a decision is made of.
type facts struct {
	host              string
	local, textLeaves bool
	waits             error // the service asked to be left alone
	slow              error // its last answers were late or none
	unfit             error // it does not take the texts
}

// refuse returns why a service is not asked under a policy, nil when it is.
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

// The profile of a service.
const (
	offTime     = time.Minute
	maxFailures = 3 // in a row
	smoothing   = 4 // a call's share of the average is one in so many
)

// profile is what the last calls were like.
type profile struct {
	deadline time.Duration
	// average is a moving one. It begins at 0, so that one late call, of a model that had to
	// be loaded, makes no habit.
	average  time.Duration
	failures int // in a row
	offUntil time.Time
	why      error
	waitTill time.Time
}

// note adds a call. How long one that was cut off would have taken is not known: it counts
// as twice the deadline. One that failed otherwise says nothing of how long answers take.
func (p *profile) note(took time.Duration, err error, now time.Time) {
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
		p.average = 0 // measured anew after the rest
	}
}

func (p *profile) rest(now time.Time, why error) { p.offUntil, p.why = now.Add(offTime), why }

// off returns why the service is left alone for now, nil when it is not.
func (p *profile) off(now time.Time) error {
	if !now.Before(p.offUntil) {
		return nil
	}
	return fmt.Errorf("%w; it is asked again in %v", p.why, p.offUntil.Sub(now).Round(time.Second))
}

// waits returns that the service asked not to be called for a while, nil when it did not.
func (p *profile) waits(now time.Time) error {
	if !now.Before(p.waitTill) {
		return nil
	}
	return fmt.Errorf("it asked to wait %v more", p.waitTill.Sub(now).Round(time.Second))
}
