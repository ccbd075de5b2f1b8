package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// What services say of their limits, in the words that each uses.
func TestQuotaIsRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	h := func(pairs ...string) http.Header {
		out := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			out.Set(pairs[i], pairs[i+1])
		}
		return out
	}
	for name, c := range map[string]struct {
		names  quotaHeaders
		header http.Header
		want   quota
		ok     bool
	}{
		"OpenAI, requests":  {requestHeaders, h("x-ratelimit-limit-requests", "60", "x-ratelimit-remaining-requests", "59", "x-ratelimit-reset-requests", "1s"), quota{60, 59, now.Add(time.Second)}, true},
		"OpenAI, tokens":    {tokenHeaders, h("x-ratelimit-limit-tokens", "150000", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "6m0s"), quota{150000, 0, now.Add(6 * time.Minute)}, true},
		"milliseconds":      {requestHeaders, h("x-ratelimit-limit-requests", "5000", "x-ratelimit-remaining-requests", "4999", "x-ratelimit-reset-requests", "12ms"), quota{5000, 4999, now.Add(12 * time.Millisecond)}, true},
		"Groq":              {requestHeaders, h("x-ratelimit-limit-requests", "14400", "x-ratelimit-remaining-requests", "14370", "x-ratelimit-reset-requests", "2m59.56s"), quota{14400, 14370, now.Add(179560 * time.Millisecond)}, true},
		"Azure, seconds":    {tokenHeaders, h("x-ratelimit-limit-tokens", "240000", "x-ratelimit-remaining-tokens", "100", "x-ratelimit-reset-tokens", "17"), quota{240000, 100, now.Add(17 * time.Second)}, true},
		"Azure, unknown":    {tokenHeaders, h("x-ratelimit-limit-tokens", "-1", "x-ratelimit-remaining-tokens", "-1", "x-ratelimit-reset-tokens", "0"), quota{}, false},
		"the IETF's draft":  {requestHeaders, h("RateLimit-Limit", "100", "RateLimit-Remaining", "50", "RateLimit-Reset", "50"), quota{100, 50, now.Add(50 * time.Second)}, true},
		"since 1970":        {requestHeaders, h("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1777863751"), quota{100, 0, now.Add(30 * time.Second)}, true},
		"since 1970, in ms": {requestHeaders, h("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1777863751000"), quota{100, 0, now.Add(30 * time.Second)}, true},
		"a year":            {requestHeaders, h("X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "31536000"), quota{100, 0, now.Add(maxRetryAfter)}, true},
		"half of it":        {requestHeaders, h("x-ratelimit-remaining-requests", "59"), quota{}, false},
		"words":             {requestHeaders, h("x-ratelimit-limit-requests", "many", "x-ratelimit-remaining-requests", "some", "x-ratelimit-reset-requests", "soon"), quota{}, false},
		"nothing":           {requestHeaders, h(), quota{}, false},
	} {
		if got, ok := readQuota(c.header, c.names, now); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, ok, c.want, c.ok)
		}
	}
}

// For how long a service wants to be left alone, beside Retry-After.
func TestRetryAfterOfOtherKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header, value, body string
		want                time.Duration
	}{
		"milliseconds":            {"Retry-After-Ms", "250", "", 250 * time.Millisecond},
		"a limit that is used up": {"X-Ratelimit-Reset-Requests", "8.64s", "", 8640 * time.Millisecond},
		"Gemini": {"X-Other", "", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
			{"@type":"type.googleapis.com/google.rpc.Help","links":[]},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"22s"}]}}`, 22 * time.Second},
		"a text":  {"X-Other", "", "slow down", 0},
		"a trick": {"X-Other", "", `{"error":{"details":[{"retryDelay":"-5s"}]}}`, 0},
	} {
		s := server(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set(c.header, c.value)
			rw.Header().Set("X-Ratelimit-Limit-Requests", "3")
			if c.header == "X-Ratelimit-Reset-Requests" {
				rw.Header().Set("X-Ratelimit-Remaining-Requests", "0")
			}
			rw.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(rw, c.body)
		}, Options{Now: func() time.Time { return time.Unix(1e9, 0) }})
		var e *Error
		if err := s.Post(t.Context(), "/x", 1, new(any), 100); !errors.As(err, &e) || e.RetryAfter != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A limit of tokens is kept before it is passed: the wait is what the tokens of the next
// request take to come back.
func TestTokensAreWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(time.Now)
		admit := func() time.Duration {
			began := time.Now()
			if _, err := l.admit(t.Context(), "h"); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		if took := admit(); took != 0 {
			t.Errorf("the first request waited %v", took)
		}
		h := http.Header{}
		h.Set("X-Ratelimit-Limit-Tokens", "1000")
		h.Set("X-Ratelimit-Remaining-Tokens", "100")
		h.Set("X-Ratelimit-Reset-Tokens", "54s")
		l.accept(ticket{time.Now()}, h, 400*bytesPerToken)
		if wait, why := l.waiting(); wait != 18*time.Second || why == "" {
			t.Errorf("it says that it waits %v because %q", wait, why)
		}
		if took := admit(); took != 18*time.Second { // 300 of the 900 that come back in 54 s
			t.Errorf("the second request waited %v, want 18s", took)
		}
	})
}

// An urgent request passes the spacing of others, and is refused at once when the service
// would refuse it for longer than it may wait.
func TestUrgentRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(time.Now)
		for range 3 {
			tk, err := l.admit(t.Context(), "h")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			l.accept(tk, http.Header{}, 1)
		}
		tk, err := l.admit(t.Context(), "h")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		l.fail(tk, 30*time.Second, true, "it limits the rate of requests")
		hurried, cancel := context.WithTimeout(Urgent(t.Context()), 2*time.Second)
		defer cancel()
		began := time.Now()
		var e *Error
		if _, err := l.admit(hurried, "h"); !errors.As(err, &e) || e.RetryAfter != 30*time.Second || time.Since(began) != 0 {
			t.Errorf("%v after %v, want a refusal at once that says 30s", err, time.Since(began))
		}
		time.Sleep(30 * time.Second)
		for i := range 2 {
			began := time.Now()
			if _, err := l.admit(Urgent(t.Context()), "h"); err != nil || time.Since(began) != 0 {
				t.Errorf("urgent request %d: %v after %v", i, err, time.Since(began))
			}
		}
		began = time.Now()
		if _, err := l.admit(t.Context(), "h"); err != nil || time.Since(began) < 10*time.Second {
			t.Errorf("another request: %v after %v, want it spaced out", err, time.Since(began))
		}
	})
}
