package remote

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter keeps the requests of this process to one service within the limits of the service.
// It is an adaptive rate limiter in front of a token bucket:
//
//   - A refusal (429, 503) stops every request until the time that the service gave, or for an
//     exponential backoff with jitter where it gave none.
//   - A refusal also sets the rate to nine tenths of what was accepted up to then; without an
//     acceptance since the last refusal the rate is halved. While nothing is refused the rate
//     is raised by a tenth, then a fifth and so on: slowly near the rate of the last refusal
//     and faster away from it, as CUBIC does (RFC 9438) and the adaptive retry mode of the AWS
//     SDKs after it.
//   - Where answers say how many requests or tokens are left, no request is sent that would be
//     refused.
//
// Urgent requests, which a person waits for, are not delayed by the rate, and fail at once when
// they would wait beyond their deadline. It may be used from several goroutines.
type Limiter struct {
	now func() time.Time

	mu      sync.Mutex // guards what follows
	changed chan struct{}
	until   time.Time // nothing is sent before
	why     string
	failed  int // in a row
	refused time.Time
	pace    *rate.Limiter
	began   time.Time // of the first request that was accepted since the last refusal
	taken   int       // requests accepted since then
	calm    int       // requests accepted since the rate was changed
	step    float64   // by which the rate is raised next
	left    quota     // of requests, as the service last said
	flying  int       // requests under way
}

// The constants of the limiter.
const (
	firstBackoff = time.Second
	mostBackoff  = time.Minute
	calmRequests = 32  // after so many without a refusal the rate is raised
	firstStep    = 0.1 // of the rate
	queryShare   = 10  // one in so many requests is left to urgent ones
)

func newLimiter(now func() time.Time) *Limiter {
	return &Limiter{now: now, changed: make(chan struct{}), pace: rate.NewLimiter(rate.Inf, 1), step: firstStep}
}

// ticket is a request that was admitted.
type ticket struct{ at time.Time }

// admit waits until a request may be sent. The error is the context's, or for an urgent
// request that would have to wait beyond its deadline an *Error with RetryAfter.
func (l *Limiter) admit(ctx context.Context, host string) (ticket, error) {
	hurry := isUrgent(ctx)
	for {
		if err := ctx.Err(); err != nil {
			return ticket{}, err
		}
		wait, changed := l.enter(hurry)
		if wait <= 0 {
			return ticket{l.now()}, nil
		}
		if deadline, ok := ctx.Deadline(); hurry && ok && time.Until(deadline) < wait {
			return ticket{}, &Error{Host: host, Fault: FaultService, RetryAfter: wait, Message: "not asked: " + l.describe(wait)}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// enter reserves a slot for a request, or returns how long there is none.
func (l *Limiter) enter(hurry bool) (wait time.Duration, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	wait = max(l.until.Sub(now), l.left.wait(now, hurry))
	if wait <= 0 {
		slot := l.pace.ReserveN(now, 1)
		if wait = slot.DelayFrom(now); hurry {
			wait = 0 // what comes after it waits for longer
		} else if wait > 0 {
			slot.CancelAt(now)
		}
	}
	if wait <= 0 {
		l.flying++
		l.left.count--
	}
	return wait, l.changed
}

// wake has the waiting requests check again. The caller holds mu.
func (l *Limiter) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// accept records an answer and the limits in its headers.
func (l *Limiter) accept(t ticket, h http.Header, sent int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.wake()
	l.flying--
	l.failed = 0
	now := l.now()
	l.read(h, sent, now)
	if !t.at.After(l.refused) {
		return
	}
	if l.taken++; l.taken == 1 {
		l.began = t.at
	}
	if l.calm++; l.calm >= calmRequests && l.pace.Limit() != rate.Inf {
		l.pace.SetLimitAt(now, l.pace.Limit()*rate.Limit(1+l.step))
		l.calm, l.step = 0, min(2*l.step, 1)
	}
}

// read updates the remaining quota from the headers of an answer.
func (l *Limiter) read(h http.Header, sent int, now time.Time) {
	if q, ok := readQuota(h, requestHeaders, now); ok {
		q.count -= l.flying
		l.left = q
	}
	if q, ok := readQuota(h, tokenHeaders, now); ok {
		if wait := q.refill(sent/bytesPerToken, now); wait > 0 && now.Add(wait).After(l.until) {
			l.until, l.why = now.Add(wait), "its limit of tokens is used up"
		}
	}
}

// fail records a failed request. after is the delay that the service asked for, 0 when it did
// not; limited is set when it refused because of its limits.
func (l *Limiter) fail(t ticket, after time.Duration, limited bool, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.wake()
	l.flying--
	now := l.now()
	news := t.at.After(l.refused) // else it was under way when the last one failed
	if news {
		l.failed++
	}
	if after == 0 {
		after = backoff(l.failed)
	}
	if until := now.Add(after); until.After(l.until) {
		l.until, l.why = until, why
	}
	if limited && news {
		l.slow(now)
	}
	if news {
		l.refused, l.taken, l.calm, l.step = now, 0, 0, firstStep
	}
}

// slow sets the rate after a refusal.
func (l *Limiter) slow(now time.Time) {
	limit := l.pace.Limit() / 2
	if l.taken > 0 {
		limit = rate.Limit(float64(l.taken) / max(l.until.Sub(l.began).Seconds(), 0.001))
	}
	if limit != rate.Inf {
		if l.taken > 0 {
			limit -= limit / queryShare
		}
		l.pace.SetLimitAt(now, limit)
	}
}

// drop records a request whose caller gave up.
func (l *Limiter) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying--
	l.wake()
}

// backoff returns the exponential backoff after a number of failures in a row, with a quarter
// of jitter. A backoff library would add its own count of failures to the limiter's.
func backoff(failed int) time.Duration {
	d := firstBackoff << min(max(failed-1, 0), 6)
	d = min(d, mostBackoff)
	return d + rand.N(d/4)
}

// waiting returns for how long nothing is sent, and why; 0 when requests go through.
func (l *Limiter) waiting() (time.Duration, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	wait, why := l.until.Sub(now), l.why
	if left := l.left.wait(now, false); left > wait {
		wait, why = left, "its limit of requests is used up"
	}
	return max(wait, 0), why
}

// describe says in words for how long a request would wait.
func (l *Limiter) describe(wait time.Duration) string {
	_, why := l.waiting()
	if why == "" {
		why = "its requests are spaced out"
	}
	return fmt.Sprintf("%s; the next request is sent in %v", why, wait.Round(100*time.Millisecond))
}

type urgentKey struct{}

// Urgent marks the requests under a context as ones that a person waits for: they go before
// others, and are refused at once when they would have to wait beyond their deadline.
func Urgent(ctx context.Context) context.Context { return context.WithValue(ctx, urgentKey{}, true) }

func isUrgent(ctx context.Context) bool { return ctx.Value(urgentKey{}) != nil }
