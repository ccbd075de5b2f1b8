package remote

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// bytesPerToken is a careful estimate for source code, which has two to four.
const bytesPerToken = 3

// quota is the remainder of one of the service's limits, as it reports it. The zero quota is
// unknown.
type quota struct {
	limit, count int
	reset        time.Time // when the limit is whole again
}

// wait returns the time until a request is left, 0 when one is. A share of the remainder is
// reserved for urgent requests.
func (q quota) wait(now time.Time, urgent bool) time.Duration {
	kept := 0
	if !urgent {
		kept = q.limit / queryShare
	}
	if q.count > kept {
		return 0
	}
	return max(q.reset.Sub(now), 0)
}

// refill returns the time until so many are left again, 0 when they are. Token limits refill
// continuously.
func (q quota) refill(need int, now time.Time) time.Duration {
	need = min(need, q.limit)
	if q.count >= need || q.limit <= q.count {
		return 0
	}
	share := float64(need-q.count) / float64(q.limit-q.count)
	return time.Duration(share * float64(q.reset.Sub(now)))
}

// quotaHeaders are the names under which a service tells one limit: OpenAI, Groq, Azure and
// those who speak like them tell requests and tokens; others tell requests, by the names of
// the IETF's draft on rate limit headers or with an X in front.
type quotaHeaders []struct{ limit, remaining, reset string }

var (
	requestHeaders = quotaHeaders{
		{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
		{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"},
		{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
	}
	tokenHeaders = quotaHeaders{
		{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	}
)

// readQuota reads a limit from the headers of an answer. A service without the limit sends no
// header, or -1 (Azure).
func readQuota(h http.Header, names quotaHeaders, now time.Time) (quota, bool) {
	for _, n := range names {
		limit, err := strconv.Atoi(strings.TrimSpace(h.Get(n.limit)))
		remaining, err2 := strconv.Atoi(strings.TrimSpace(h.Get(n.remaining)))
		reset, ok := readReset(h.Get(n.reset), now)
		if err == nil && err2 == nil && ok && limit > 0 && remaining >= 0 {
			return quota{limit, remaining, now.Add(reset)}, true
		}
	}
	return quota{}, false
}

// readReset reads when a limit is whole again: as a duration ("6m0s", "12ms"), in seconds, or
// as seconds or milliseconds since 1970.
func readReset(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if d, err := time.ParseDuration(value); err == nil {
		return min(max(d, 0), maxRetryAfter), true
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	const seconds, milliseconds = 1e9, 1e12 // since 1970: 2001
	switch {
	case n >= milliseconds:
		n = n/1e3 - float64(now.Unix())
	case n >= seconds:
		n -= float64(now.Unix())
	}
	return time.Duration(min(max(n, 0), maxRetryAfter.Seconds()) * float64(time.Second)), true
}

// retryAfter returns the delay that a service asks for: Retry-After-Ms (OpenAI and Azure),
// Retry-After (RFC 9110, section 10.2.3) in seconds or as a date, the RetryInfo in the body of
// Google's errors, or the reset of an exhausted limit.
func (s *Service) retryAfter(h http.Header, body []byte) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, float64(maxRetryAfter.Milliseconds())) * float64(time.Millisecond))
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(date.Sub(s.now()), 0), maxRetryAfter)
	}
	if after := retryInfo(body); after > 0 {
		return min(after, maxRetryAfter)
	}
	for _, names := range []quotaHeaders{requestHeaders, tokenHeaders} {
		if q, ok := readQuota(h, names, s.now()); ok && q.count == 0 {
			return q.reset.Sub(s.now())
		}
	}
	return 0
}

// retryInfo reads the delay of a google.rpc.RetryInfo.
func retryInfo(body []byte) time.Duration {
	var e struct {
		Error struct {
			Details []struct {
				RetryDelay string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return 0
	}
	for _, d := range e.Error.Details {
		if after, err := time.ParseDuration(d.RetryDelay); err == nil {
			return max(after, 0)
		}
	}
	return 0
}
