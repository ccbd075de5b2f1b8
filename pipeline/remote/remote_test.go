package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func server(t *testing.T, h http.HandlerFunc, o Options) *Service {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	o.URL = s.URL + "/v1/"
	service, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	return service
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o     Options
		fault string
	}{
		"loopback":               {Options{URL: "http://127.0.0.1:11434", Key: "k"}, ""},
		"localhost":              {Options{URL: "http://localhost:8080/v1", Key: "k"}, ""},
		"IPv6":                   {Options{URL: "http://[::1]:8080/v1", Key: "k"}, ""},
		"https":                  {Options{URL: "https://api.example.com/v1", Key: "k"}, ""},
		"in the clear, no key":   {Options{URL: "http://gpu.example.com:8000/v1"}, ""},
		"a key in the clear":     {Options{URL: "http://gpu.example.com/v1", Key: "k"}, "in the clear"},
		"like loopback":          {Options{URL: "http://127.0.0.1.example.com/", Key: "k"}, "in the clear"},
		"no scheme":              {Options{URL: "api.example.com/v1"}, "want http"},
		"another scheme":         {Options{URL: "file:///etc/passwd"}, "want http"},
		"no host":                {Options{URL: "http:///v1"}, "want http"},
		"a user":                 {Options{URL: "https://user:pass@example.com/"}, "user or password"},
		"a query":                {Options{URL: "https://example.com/?key=k"}, "query"},
		"a control character":    {Options{URL: "https://example.com/\x00"}, "cannot be parsed"},
		"a key with a line end":  {Options{URL: "https://example.com/", Key: "k\r\nX: y"}, "line end"},
		"nothing":                {Options{}, "want http"},
		"a fragment":             {Options{URL: "https://example.com/#v1"}, "fragment"},
		"a password in no error": {Options{URL: "ftp://user:secret@example.com/"}, "want http"},
	} {
		_, err := New(c.o)
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v, want %q", name, err, c.fault)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "pass@")) {
			t.Errorf("%s: the error shows a password: %v", name, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "soon": 0, "NaN": 0, "1e300": maxRetryAfter,
		"86400": maxRetryAfter, "Mon, 04 May 2026 03:02:31 GMT": 30 * time.Second, "Mon, 04 May 2020 03:02:31 GMT": 0,
	} {
		s := server(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", value)
			rw.WriteHeader(http.StatusTooManyRequests)
		}, Options{Now: func() time.Time { return now }})
		var e *Error
		if err := s.Post(t.Context(), "/x", 1, new(any), 100); !errors.As(err, &e) || e.RetryAfter != want || e.Fault != FaultService {
			t.Errorf("%q: %v, %v; want %v", value, err, e, want)
		}
	}
}

// TestRedirectIsNotFollowed has a service point at another, which must see nothing.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	t.Cleanup(other.Close)
	s := server(t, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, other.URL, http.StatusTemporaryRedirect)
	}, Options{Key: "secret"})
	var e *Error
	if err := s.Post(t.Context(), "/x", 1, new(any), 100); !errors.As(err, &e) || e.Fault != FaultSettings {
		t.Errorf("%v, want an error of the settings", err)
	}
	select {
	case <-reached:
		t.Error("the redirect was followed")
	default:
	}
}

// TestKeyIsHidden has services repeat the key in every place that ends in an error.
func TestKeyIsHidden(t *testing.T) {
	t.Parallel()
	const key = "a-secret-key"
	for name, h := range map[string]http.HandlerFunc{
		"a refusal": func(rw http.ResponseWriter, r *http.Request) {
			http.Error(rw, r.Header.Get("Authorization"), http.StatusBadRequest)
		},
		"bad JSON": func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `{"x":"`+key+`"}`) },
		"control set": func(rw http.ResponseWriter, _ *http.Request) {
			http.Error(rw, "\x1b[31m\u202ered\r\n"+key, http.StatusInternalServerError)
		},
	} {
		s := server(t, h, Options{Key: key})
		err := s.Post(t.Context(), "/x", 1, new(struct {
			X int `json:"x"`
		}), 1000)
		if err == nil || strings.Contains(err.Error(), key) || strings.ContainsAny(err.Error(), "\x1b\r\n\u202e") {
			t.Errorf("%s: %q", name, err)
		}
	}
}

// TestDrip reads from a service that never ends its answer.
func TestDrip(t *testing.T) {
	t.Parallel()
	drip := func(rw http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(rw, " "); err != nil {
				return
			}
			_ = http.NewResponseController(rw).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(time.Millisecond):
			}
		}
	}
	s := server(t, drip, Options{Timeout: 50 * time.Millisecond})
	var e *Error
	if err := s.Post(t.Context(), "/x", 1, new(any), 1<<30); !errors.As(err, &e) || e.Fault != FaultService {
		t.Errorf("%v, want an error of the service", err)
	}
	if err := s.Post(t.Context(), "/x", 1, new(any), 3); !errors.As(err, &e) {
		t.Errorf("%v, want a refusal of the long answer", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Post(ctx, "/x", 1, new(any), 100); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who gave up: %v", err)
	}
}

func TestExchange(t *testing.T) {
	t.Parallel()
	s := server(t, func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/echo" || r.Header.Get("X-Key") != "k" || r.Header.Get("Authorization") != "" {
			http.Error(rw, "bad", http.StatusBadRequest)
			return
		}
		if r.Method == http.MethodGet {
			body = []byte(`"got"`)
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(body)
	}, Options{Key: "k", KeyHeader: "X-Key"})
	var out string
	if err := s.Post(t.Context(), "/echo", "text", &out, 100); err != nil || out != "text" {
		t.Errorf("post: %q, %v", out, err)
	}
	if err := s.Get(t.Context(), "/echo", &out, 100); err != nil || out != "got" {
		t.Errorf("get: %q, %v", out, err)
	}
	if !s.Local() {
		t.Error("a service on loopback is not local")
	}
}
