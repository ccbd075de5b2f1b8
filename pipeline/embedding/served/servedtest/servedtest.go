// Package servedtest runs a local server that speaks the wire format of an embedding
// service, with the faults that such services have.
package servedtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/embeddingtest"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/remote"
)

// Dimension is that of the server's vectors.
const Dimension = 48

// Format is the wire format of a service.
type Format struct {
	// Path is where the service takes texts.
	Path string
	// KeyHeader is where it takes the key, and Key what it wants there.
	KeyHeader, Key string
	// Texts reads the texts of a request, without prefixes.
	Texts func(body []byte) ([]string, error)
	// Answer writes the vectors, in an order of the service's choice.
	Answer func(vectors [][]float32) any
	// Refusal is what the service writes beside a status that is not 200.
	Refusal string
}

// Server is a service.
type Server struct {
	URL string

	format Format
	mu     sync.Mutex // guards what follows
	fault  http.HandlerFunc
	bodies []string
}

// New starts a server that ends with the test.
func New(t *testing.T, f Format) *Server {
	t.Helper()
	s := &Server{format: f}
	h := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Fail has a handler answer instead; nil ends that.
func (s *Server) Fail(fault http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Bodies are those of the requests so far.
func (s *Server) Bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

func (s *Server) serve(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		fault(rw, r)
		return
	}
	if r.URL.Path != s.format.Path || r.Method != http.MethodPost {
		http.Error(rw, s.format.Refusal, http.StatusNotFound)
		return
	}
	if r.Header.Get(s.format.KeyHeader) != s.format.Key {
		http.Error(rw, s.format.Refusal, http.StatusUnauthorized)
		return
	}
	texts, err := s.format.Texts(body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			http.Error(rw, "input must not be empty", http.StatusBadRequest)
			return
		}
		vectors[i] = vector(text)
	}
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(s.format.Answer(vectors))
}

// vector is a bag of hashed words, not normalised, with a part that all texts share.
func vector(text string) []float32 {
	v := make([]float32, Dimension)
	v[0] = 0.1
	for word := range strings.FieldsSeq(text) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		v[h.Sum32()%Dimension] += 3
	}
	return v
}

// Run checks an adapter against the contract of a provider and against the faults of
// services. provider makes it over the address of the server.
func Run(t *testing.T, f Format, provider func(t *testing.T, url string) *served.Provider) {
	t.Helper()
	s := New(t, f)
	p := provider(t, s.URL)
	embeddingtest.Run(t, p, embeddingtest.Features{})
	t.Run("nothing is sent of an empty text", func(t *testing.T) {
		before := len(s.Bodies())
		v, err := p.Embed(t.Context(), embedding.Document, []string{"", " \n\t"})
		if err != nil || len(v) != 2 || len(s.Bodies()) != before {
			t.Errorf("%d vectors, %v, %d requests", len(v), err, len(s.Bodies())-before)
		}
	})
	t.Run("a query is asked for once", func(t *testing.T) {
		before := len(s.Bodies())
		first, err := p.EmbedQuery(t.Context(), "where is the lease renewed")
		second, err2 := p.EmbedQuery(t.Context(), "where is the lease renewed")
		if errors.Join(err, err2) != nil || !cmp.Equal(first, second) || len(s.Bodies()) != before+1 {
			t.Errorf("%v, %v, %d requests", err, err2, len(s.Bodies())-before)
		}
	})
	for name, c := range faults(f) {
		t.Run(name, func(t *testing.T) { c.check(t, s, provider(t, s.URL)) }) // a provider's limiter remembers faults
	}
}

type fault struct {
	serve       http.HandlerFunc
	unavailable bool          // an outage, else a refusal
	after       time.Duration // what Retry-After asked for
	message     string        // a part of the error
	forTwo      bool          // it is none where one text was sent
	partial     bool          // one of the two texts gets its vector
}

func (c fault) check(t *testing.T, s *Server, p *served.Provider) {
	s.Fail(c.serve)
	defer s.Fail(nil)
	v, err := p.Embed(t.Context(), embedding.Document, []string{"one text", "another text"})
	var unavailable *embedding.Unavailable
	if err == nil || (v != nil) != c.partial {
		t.Fatalf("%d vectors, %v; want an error, and vectors: %v", len(v), err, c.partial)
	}
	if c.partial && (len(v) != 2 || (v[0] == nil) == (v[1] == nil)) {
		t.Fatalf("vectors %v, want one of two", v)
	}
	if errors.As(err, &unavailable) != c.unavailable || errors.Is(err, embedding.ErrRejected) == c.unavailable {
		t.Errorf("%v: unavailable %v, want %v", err, !c.unavailable, c.unavailable)
	}
	if c.unavailable && unavailable != nil && unavailable.RetryAfter != c.after {
		t.Errorf("retry after %v, want %v", unavailable.RetryAfter, c.after)
	}
	if !strings.Contains(err.Error(), c.message) || strings.Contains(err.Error(), s.format.Key) && s.format.Key != "" || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q: want a line with %q and without the key", err, c.message)
	}
	hurried, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond) // less than any pause
	defer cancel()
	if _, err := p.EmbedQuery(hurried, "a query during "+t.Name()); err == nil && !c.forTwo {
		t.Error("a query got a vector")
	}
}

// faults are those of services, by name.
func faults(f Format) map[string]fault {
	status := func(code int, header ...string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			for i := 0; i < len(header); i += 2 {
				rw.Header().Set(header[i], header[i+1])
			}
			http.Error(rw, f.Refusal+"\nkey "+r.Header.Get(f.KeyHeader), code)
		}
	}
	answer := func(vectors ...[]float32) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(f.Answer(vectors))
		}
	}
	text := func(kind, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(rw, body)
		}
	}
	whole := vector("a")
	const settings = 30 * time.Second
	return map[string]fault{
		"too many requests":   {serve: status(429, "Retry-After", "7"), unavailable: true, after: 7 * time.Second, message: "429"},
		"overloaded":          {serve: status(503), unavailable: true, message: "503"},
		"broken":              {serve: status(500), unavailable: true, message: "500"},
		"a wrong key":         {serve: status(401), unavailable: true, after: settings, message: "401"},
		"an unknown model":    {serve: status(404), unavailable: true, after: settings, message: "404"},
		"a redirect":          {serve: status(307, "Location", "http://127.0.0.1:1/"), unavailable: true, after: settings, message: "not followed"},
		"a refused text":      {serve: status(400), message: "400"},
		"too large":           {serve: status(413), message: "413"},
		"a web page":          {serve: text("text/html; charset=utf-8", "<html>"), unavailable: true, message: "web page"},
		"not JSON":            {serve: text("application/json", "{\"da"), unavailable: true, message: "not the JSON"},
		"not a number":        {serve: text("application/json", strings.Replace(marshal(f.Answer([][]float32{whole, whole})), "0.1", "NaN", 1)), unavailable: true, message: "not the JSON"},
		"out of range":        {serve: text("application/json", strings.Replace(marshal(f.Answer([][]float32{whole, whole})), "0.1", "1e99", 1)), unavailable: true, message: "not the JSON"},
		"an endless answer":   {serve: text("application/json", "["+strings.Repeat(" ", 1<<20)+"]"), unavailable: true, message: "longer than"},
		"another dimension":   {serve: answer(whole[1:], whole[1:]), unavailable: true, message: "dimensions"},
		"one short vector":    {serve: answer(whole, whole[1:]), unavailable: true, message: "dimensions"},
		"too few vectors":     {serve: answer(whole), message: "1 vectors for 2", forTwo: true},
		"too many vectors":    {serve: answer(whole, whole, whole), message: "3 vectors for 2"},
		"an empty vector":     {serve: answer(whole, make([]float32, Dimension)), message: "empty or not finite", partial: true},
		"an absent vector":    {serve: answer(whole, nil), message: "vector", partial: true},
		"nothing":             {serve: text("application/json", "{}"), message: "0 vectors for 2"},
		"a broken connection": {serve: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, unavailable: true, message: ""},
		"a body that breaks off": {serve: func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(rw, "{")
		}, unavailable: true, message: "broke off"},
	}
}

func marshal(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a format that cannot be encoded: %v", err))
	}
	return string(data)
}

// Service makes the service of a server, with a key.
func Service(t *testing.T, url, key, header string) *remote.Service {
	t.Helper()
	s, err := remote.New(remote.Options{URL: url, Key: key, KeyHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Fixture compares a request with the one that was recorded, and returns the answer of the
// provider to the recorded one.
func Fixture(t *testing.T, f Format, p func(t *testing.T, url string) *served.Provider, kind embedding.Kind, want, answer string, texts ...string) [][]float32 {
	t.Helper()
	s := New(t, f)
	s.Fail(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, answer)
	})
	v, err := p(t, s.URL).Embed(context.WithoutCancel(t.Context()), kind, texts)
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted any
	if err := errors.Join(json.Unmarshal([]byte(s.Bodies()[0]), &got), json.Unmarshal([]byte(want), &wanted)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	return v
}
