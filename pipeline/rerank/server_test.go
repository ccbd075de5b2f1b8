package rerank_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/freshet/freshet/pipeline/rerank"
)

// key is a secret that no error may show.
const key = "pa-secret-0123456789"

// asked is a request as a server got it.
type asked struct {
	Path, Authorization string
	Body                map[string]any
}

// server is a service on loopback that remembers what it was asked.
type server struct {
	*httptest.Server

	mu    sync.Mutex
	asked []asked
}

// serve starts a service. The handler gets the decoded body.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, body map[string]any)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		body := map[string]any{}
		if err != nil || json.Unmarshal(data, &body) != nil || r.Method != http.MethodPost {
			t.Errorf("%s %s with %q, %v: want a POST of JSON", r.Method, r.URL.Path, data, err)
		}
		s.mu.Lock()
		s.asked = append(s.asked, asked{r.URL.Path, r.Header.Get("Authorization"), body})
		s.mu.Unlock()
		answer(w, r, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) calls() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// provider is one of a kind that speaks to a server.
func provider(t *testing.T, kind rerank.Kind, url, model string) *rerank.Provider {
	t.Helper()
	p, err := rerank.New(rerank.Options{Kind: kind, URL: url, Model: model, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func recorded(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// reply sends JSON.
func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client may be gone: what it makes of that is what is tested.
	if _, err := io.WriteString(w, body); err != nil {
		return
	}
}
