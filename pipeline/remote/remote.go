// Package remote exchanges JSON with services over HTTP: embedding and reranking providers.
// It owns what they all need: one address that the operator chose and no other, a key that
// is never sent in clear text over a network and never shown, a rate limiter, timeouts,
// size limits, and errors that classify the cause.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options describe a service.
type Options struct {
	// URL is the address that paths are appended to: http or https, without a query,
	// user or fragment.
	URL string
	// Key is sent in KeyHeader when it is not empty. Over plain http it is refused, unless
	// the service is on loopback.
	Key string
	// KeyHeader is the name of the header, "" means Authorization with a Bearer key.
	KeyHeader string
	// Timeout bounds an exchange, 0 means a minute. The caller's context may end it earlier.
	Timeout time.Duration
	// Now is for Retry-After dates; nil means time.Now.
	Now func() time.Time
	// Unlimited turns the rate limiter off: the caller keeps the limits of the service.
	Unlimited bool
	// Transport carries the requests; nil means HTTP over the network.
	Transport http.RoundTripper
}

// defaultTimeout bounds an exchange: a large batch on a slow machine takes this long.
const defaultTimeout = time.Minute

// grace is how long an exchange under way may go on after its context was canceled, so that
// paid work is not lost when a process ends. Urgent requests have none.
const grace = 3 * time.Second

// Service is one service, with the limiter of this process for it. It may be used from
// several goroutines.
type Service struct {
	base      *url.URL
	key       string
	keyHeader string
	timeout   time.Duration
	now       func() time.Time
	client    *http.Client
	limiter   *Limiter // nil when the caller limits
}

// New returns a service. It sends nothing.
func New(o Options) (*Service, error) {
	base, err := url.Parse(o.URL)
	if err != nil {
		return nil, errors.New("the address of the service cannot be parsed: want http://HOST:PORT/PATH")
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, fmt.Errorf("the address of the service is %q: want http://HOST:PORT/PATH or https://HOST/PATH", base.Redacted())
	case base.User != nil:
		return nil, errors.New("the address of the service holds a user or password: give the key by its own variable")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("the address of the service has a query or a fragment: leave it out")
	case o.Key != "" && base.Scheme == "http" && !loopback(base.Hostname()):
		return nil, fmt.Errorf("the key would cross the network to %s in the clear: use https, or leave the key out", base.Host)
	case strings.ContainsAny(o.Key, "\r\n\x00"):
		return nil, errors.New("the key holds a line end: give it without")
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	s := &Service{base: base, key: o.Key, keyHeader: o.KeyHeader, timeout: o.Timeout, now: o.Now}
	if s.timeout == 0 {
		s.timeout = defaultTimeout
	}
	if s.now == nil {
		s.now = time.Now
	}
	if !o.Unlimited {
		s.limiter = newLimiter(s.now)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 8
	transport.MaxResponseHeaderBytes = 64 << 10
	s.client = &http.Client{
		Transport: transport,
		// A redirect would send source text, and the key, where the operator did not say.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if o.Transport != nil {
		s.client.Transport = o.Transport
	}
	return s, nil
}

// Waiting returns how long no request will be sent because of the limits or failures of the
// service, and the reason; 0 when requests are sent.
func (s *Service) Waiting() (time.Duration, string) {
	if s.limiter == nil {
		return 0, ""
	}
	return s.limiter.waiting()
}

// Close closes idle connections.
func (s *Service) Close() { s.client.CloseIdleConnections() }

// Post sends in as JSON to a path below the address and decodes the answer into out. An
// answer of more than most bytes is refused. The error is the context's own when that
// ended, and an *Error otherwise.
func (s *Service) Post(ctx context.Context, path string, in, out any, most int64) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode a request to %s: %w", s.Host(), err)
	}
	return s.exchange(ctx, http.MethodPost, path, body, out, most)
}

// Get is Post without a body.
func (s *Service) Get(ctx context.Context, path string, out any, most int64) error {
	return s.exchange(ctx, http.MethodGet, path, nil, out, most)
}

func (s *Service) exchange(ctx context.Context, method, path string, body []byte, out any, most int64) error {
	if s.limiter == nil {
		timed, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		_, err := s.try(timed, method, path, body, out, most)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return s.limited(ctx, method, path, body, out, most)
}

// limited sends a request when the limiter admits it. When ctx is canceled, an exchange under
// way has the grace period to end.
func (s *Service) limited(ctx context.Context, method, path string, body []byte, out any, most int64) error {
	t, err := s.limiter.admit(ctx, s.Host())
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, s.timeout)
	if !isUrgent(ctx) {
		timed, cancel = lasting(ctx, s.timeout)
	}
	defer cancel()
	header, err := s.try(timed, method, path, body, out, most)
	var e *Error
	switch {
	case err == nil:
		s.limiter.accept(t, header, len(body))
	case ctx.Err() != nil:
		s.limiter.drop()
		return ctx.Err()
	case errors.As(err, &e) && e.Fault == FaultService:
		limited := e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable && e.RetryAfter > 0
		s.limiter.fail(t, e.RetryAfter, limited, e.reason())
	default:
		s.limiter.accept(t, header, len(body)) // it takes requests, if not this one
	}
	return err
}

// lasting returns a context that ends after a timeout, or a grace period after ctx.
func lasting(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(timed, func() { timer.Stop() })
	})
	return timed, func() { stop(); cancel() }
}

func (s *Service) try(ctx context.Context, method, path string, body []byte, out any, most int64) (_ http.Header, err error) {
	request, err := http.NewRequestWithContext(ctx, method, s.base.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request to %s: %w", s.Host(), err)
	}
	request.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	switch {
	case s.key == "":
	case s.keyHeader == "":
		request.Header.Set("Authorization", "Bearer "+s.key)
	default:
		request.Header.Set(s.keyHeader, s.key)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, &Error{Host: s.Host(), Fault: FaultService, Lost: !unsent(err), Message: s.hide(strip(err).Error())}
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return response.Header, s.refused(response)
	}
	lost := func(format string, args ...any) (http.Header, error) {
		return response.Header, &Error{Host: s.Host(), Fault: FaultService, Lost: true, Message: fmt.Sprintf(format, args...)}
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err == nil && kind == "text/html" {
		return lost("answered with a web page: the address is not that of the service's API")
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return lost("the answer broke off: %s", s.hide(err.Error()))
	case int64(len(data)) > most:
		return lost("the answer is longer than %d bytes", most)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return lost("the answer is not the JSON that was expected: %s", s.hide(err.Error()))
	}
	return response.Header, nil
}

// unsent reports whether a request failed before anything was sent.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
