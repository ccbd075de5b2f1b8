package rerank_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/freshet/freshet/pipeline/remote"
	"github.com/freshet/freshet/pipeline/rerank"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	ok := func(body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, body) }
	}
	status := func(code int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { reply(w, code, body) }
	}
	cases := []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		fault  remote.Fault
		want   string
	}{
		{"short list", ok(`{"results":[{"index":0,"relevance_score":1}]}`), remote.FaultService, "1 scores for 2 texts"},
		{"long list", ok(`{"results":[{"index":0,"relevance_score":1},{"index":1,"relevance_score":1},{"index":1,"relevance_score":1}]}`), remote.FaultService, "3 scores for 2"},
		{"index beyond", ok(`{"results":[{"index":0,"relevance_score":1},{"index":2,"relevance_score":1}]}`), remote.FaultService, "text 2 of 2"},
		{"negative index", ok(`{"results":[{"index":-1,"relevance_score":1},{"index":1,"relevance_score":1}]}`), remote.FaultService, "text -1 of 2"},
		{"duplicate", ok(`{"results":[{"index":1,"relevance_score":1},{"index":1,"relevance_score":2}]}`), remote.FaultService, "two scores for text 1"},
		{"NaN as a string", ok(`{"results":[{"index":0,"relevance_score":"NaN"},{"index":1,"relevance_score":1}]}`), remote.FaultService, "of no use"},
		{"bare NaN", ok(`{"results":[{"index":0,"relevance_score":NaN},{"index":1,"relevance_score":1}]}`), remote.FaultService, "not the JSON"},
		{"infinite", ok(`{"results":[{"index":0,"relevance_score":1e999},{"index":1,"relevance_score":1}]}`), remote.FaultService, "of no use"},
		{"null", ok(`{"results":[{"index":0,"relevance_score":null},{"index":1,"relevance_score":1}]}`), remote.FaultService, "an index without a score"},
		{"no index", ok(`{"results":[{"relevance_score":0},{"index":1,"relevance_score":1}]}`), remote.FaultService, "without an index"},
		{"another object", ok(`{"object":"list","embeddings":[]}`), remote.FaultService, "0 scores for 2"},
		{"null instead of an answer", ok(`null`), remote.FaultService, "0 scores for 2"},
		{"half an answer", ok(`{"results":[{"index":0,`), remote.FaultService, "not the JSON"},
		{"nothing", ok(``), remote.FaultService, "not the JSON"},
		{"huge", ok(`{"results":[],"padding":"` + strings.Repeat("x", 1<<20) + `"}`), remote.FaultService, "longer than"},
		{"a web page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			if _, err := io.WriteString(w, "<html>Sign in</html>"); err != nil {
				return
			}
		}, remote.FaultService, "web page"},
		{"wrong key", func(w http.ResponseWriter, r *http.Request) {
			reply(w, http.StatusUnauthorized, fmt.Sprintf(`{"detail":"Provided API key %s is invalid."}`, r.Header.Get("Authorization")))
		}, remote.FaultSettings, "is invalid"},
		{"no such model", status(http.StatusBadRequest, `{"detail":"Model m is not supported."}`), remote.FaultRequest, "not supported"},
		{"no reranking", status(http.StatusNotImplemented, `{"error":{"code":501,"message":"This server does not support reranking. Start it with --reranking","type":"not_supported_error"}}`), remote.FaultService, "--reranking"},
		{"too many for one batch", status(http.StatusRequestEntityTooLarge, `{"error":"batch size 33 > maximum allowed batch size 32","error_type":"Validation"}`), remote.FaultRequest, "maximum allowed batch size"},
		{"broken", status(http.StatusInternalServerError, `{"error":{"code":500,"message":"input is too large to process"}}`), remote.FaultService, "too large to process"},
		{"breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			reply(w, http.StatusOK, `{"results":[`)
		}, remote.FaultService, "broke off"},
	}
	for _, c := range cases {
		for _, kind := range rerank.Kinds() {
			t.Run(c.name+" from "+string(kind), func(t *testing.T) {
				t.Parallel()
				s := serve(t, func(w http.ResponseWriter, r *http.Request, _ map[string]any) { c.answer(w, r) })
				_, err := provider(t, kind, s.URL, "m").Rerank(t.Context(), "q", []string{"a", "b"})
				var refused *remote.Error
				if !errors.As(err, &refused) || refused.Fault != c.fault || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error is %v, want %q with fault %d", err, c.want, c.fault)
				}
				keepsKey(t, err)
			})
		}
	}
}

func keepsKey(t *testing.T, err error) {
	t.Helper()
	if strings.Contains(err.Error(), key) || strings.Contains(fmt.Sprintf("%+v %#v", err, err), key) {
		t.Errorf("the key is in the error %v", err)
	}
}

func TestDown(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request, map[string]any) {})
	p := provider(t, rerank.Compatible, s.URL, "")
	s.Close()
	_, err := p.Rerank(t.Context(), "q", []string{"a"})
	var refused *remote.Error
	if !errors.As(err, &refused) || refused.Fault != remote.FaultService || refused.Status != 0 {
		t.Errorf("error is %v, want a refused connection", err)
	}
	keepsKey(t, err)
}

func TestRetryAfterIsRead(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
		w.Header().Set("Retry-After", "17")
		reply(w, http.StatusTooManyRequests, `{"message":"trial key limit"}`)
	})
	_, err := provider(t, rerank.Cohere, s.URL, "").Rerank(t.Context(), "q", []string{"a"})
	var refused *remote.Error
	if !errors.As(err, &refused) || refused.RetryAfter != 17*time.Second || len(s.calls()) != 1 {
		t.Errorf("error is %v after %d calls, want to wait 17 s after one", err, len(s.calls()))
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
		reply(w, http.StatusOK, `[{"index":0,"score":1}]`)
	})
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		http.Redirect(w, r, elsewhere.URL+"/rerank", http.StatusTemporaryRedirect)
	})
	_, err := provider(t, rerank.Compatible, s.URL, "").Rerank(t.Context(), "q", []string{"a"})
	if err == nil || !strings.Contains(err.Error(), "redirect") || len(elsewhere.calls()) != 0 {
		t.Errorf("error is %v, %d texts went elsewhere, want a refusal and none", err, len(elsewhere.calls()))
	}
}

// The deadline cuts off an answer that never ends, whichever part of it is slow.
func TestDeadline(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		before string
	}{
		{"no answer", ""},
		{"a slow drip", `{"results":[`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answered := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
				if c.before != "" {
					reply(w, http.StatusOK, c.before)
					if err := http.NewResponseController(w).Flush(); err != nil {
						t.Error(err)
					}
				}
				answered <- struct{}{}
				<-r.Context().Done()
			})
			ctx, stop := overWhen(t.Context(), answered)
			defer stop()
			_, err := provider(t, rerank.Compatible, s.URL, "").Rerank(ctx, "q", []string{"a"})
			if !errors.Is(err, context.DeadlineExceeded) || len(s.calls()) != 1 {
				t.Errorf("error is %v after %d calls, want the deadline after one", err, len(s.calls()))
			}
		})
	}
}

func TestBadAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, url, want string }{
		{"no scheme", "localhost:8080", "http://HOST"},
		{"a key in the clear", "http://rerank.example.com", "in the clear"},
		{"a password", "https://me:pa55@rerank.example.com", "user or password"},
		{"none", "", "http://HOST"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := rerank.New(rerank.Options{Kind: rerank.Compatible, URL: c.url, Key: key})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "pa55") {
				t.Fatalf("error is %v, want %q", err, c.want)
			}
			keepsKey(t, err)
		})
	}
}
