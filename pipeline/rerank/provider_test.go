package rerank_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet/freshet/pipeline/rerank"
)

// service is how a real one answers: which paths it has, and what it calls the texts.
type service struct {
	name     string
	kind     rerank.Kind
	below    string // of the address that the operator gives
	paths    []string
	texts    string
	unknown  int    // status of a body without texts
	model    string // that is given
	recorded string
	want     []float64
	calls    []string // the paths that the first call asks
	body     map[string]any
}

func services() []service {
	documents := []any{"first", "second", "third"}
	compatible := map[string]any{"query": "q", "documents": documents, "top_n": 3.0, "return_documents": false}
	with := func(m map[string]any, model string) map[string]any {
		out := map[string]any{"model": model}
		for k, v := range m {
			out[k] = v
		}
		return out
	}
	tei := map[string]any{"query": "q", "texts": documents, "truncate": true}
	vllm := []string{"/rerank", "/v1/rerank", "/v2/rerank"}
	return []service{
		{name: "voyage", kind: rerank.Voyage, paths: []string{"/v1/rerank"}, texts: "documents", unknown: 400,
			recorded: "voyage.json", want: []float64{0.43359375, 0.30078125, 0.71484375}, calls: []string{"/v1/rerank"},
			body: map[string]any{"model": "rerank-2.5-lite", "query": "q", "documents": documents, "truncation": true}},
		{name: "cohere", kind: rerank.Cohere, paths: []string{"/v2/rerank"}, texts: "documents", unknown: 400, model: "rerank-v4.0-fast",
			recorded: "cohere.json", want: []float64{0.7867867, 0.32713068, 0.999071}, calls: []string{"/v2/rerank"},
			body: map[string]any{"model": "rerank-v4.0-fast", "query": "q", "documents": documents}},
		{name: "voyage at v1", kind: rerank.Voyage, below: "/proxy/v1/", paths: []string{"/proxy/v1/rerank"}, texts: "documents", unknown: 400, model: "rerank-2.5",
			recorded: "voyage.json", want: []float64{0.43359375, 0.30078125, 0.71484375}, calls: []string{"/proxy/v1/rerank"},
			body: map[string]any{"model": "rerank-2.5", "query": "q", "documents": documents, "truncation": true}},
		{name: "jina", kind: rerank.Compatible, paths: []string{"/v1/rerank"}, texts: "documents", unknown: 422, model: "jina-reranker-v2-base-multilingual",
			recorded: "jina.json", want: []float64{0.21117202, -0.04234, 0.8914433121681213}, calls: []string{"/v1/rerank"},
			body: with(compatible, "jina-reranker-v2-base-multilingual")},
		{name: "vllm", kind: rerank.Compatible, paths: vllm, texts: "documents", unknown: 400, model: "BAAI/bge-reranker-base",
			recorded: "vllm.json", want: []float64{0.5, 0.0005860328674316406, 0.99853515625}, calls: []string{"/v1/rerank"},
			body: with(compatible, "BAAI/bge-reranker-base")},
		{name: "vllm at v1", kind: rerank.Compatible, below: "/v1", paths: vllm, texts: "documents", unknown: 400,
			recorded: "vllm.json", want: []float64{0.5, 0.0005860328674316406, 0.99853515625}, calls: []string{"/v1/rerank"}, body: compatible},
		{name: "llama.cpp", kind: rerank.Compatible, paths: []string{"/rerank", "/reranking", "/v1/rerank", "/v1/reranking"}, texts: "documents", unknown: 400,
			recorded: "llamacpp.json", want: []float64{-8.16, -10.23, 8.68}, calls: []string{"/v1/rerank"}, body: compatible},
		{name: "infinity", kind: rerank.Compatible, paths: []string{"/rerank"}, texts: "documents", unknown: 422,
			recorded: "infinity.json", want: []float64{0.10246, 0.0002, 0.9948403}, calls: []string{"/v1/rerank", "/rerank"}, body: compatible},
		{name: "text-embeddings-inference", kind: rerank.Compatible, paths: []string{"/rerank"}, texts: "texts", unknown: 422,
			recorded: "tei.json", want: []float64{0.022949383, 0.0000043, 0.9987814}, calls: []string{"/v1/rerank", "/rerank", "/rerank"}, body: tei},
		{name: "the whole address", kind: rerank.Compatible, below: "/models/bge/rerank", paths: []string{"/models/bge/rerank"}, texts: "documents", unknown: 422,
			recorded: "jina.json", want: []float64{0.21117202, -0.04234, 0.8914433121681213}, calls: []string{"/models/bge/rerank"}, body: compatible},
		{name: "the whole address of text-embeddings-inference", kind: rerank.Compatible, below: "/rerank/", paths: []string{"/rerank"}, texts: "texts", unknown: 422,
			recorded: "tei.json", want: []float64{0.022949383, 0.0000043, 0.9987814}, calls: []string{"/rerank", "/rerank"}, body: tei},
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for _, c := range services() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request, body map[string]any) {
				switch _, ok := body[c.texts]; {
				case !slices.Contains(c.paths, r.URL.Path):
					reply(w, http.StatusNotFound, `{"detail":"Not Found"}`)
				case !ok:
					reply(w, c.unknown, `{"error":"missing field `+c.texts+`"}`)
				default:
					reply(w, http.StatusOK, string(recorded(t, c.recorded)))
				}
			})
			p := provider(t, c.kind, s.URL+c.below, c.model)
			for call := range 2 {
				got, err := p.Rerank(t.Context(), "q", []string{"first", "second", "third"})
				if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
					t.Fatalf("call %d: %v, scores (-want +got):\n%s", call, err, diff)
				}
			}
			last := c.calls[len(c.calls)-1]
			var paths []string
			for _, a := range s.calls() {
				paths = append(paths, a.Path)
				if a.Authorization != "Bearer "+key {
					t.Errorf("authorization of %s is %q", a.Path, a.Authorization)
				}
			}
			if diff := cmp.Diff(append(slices.Clone(c.calls), last), paths); diff != "" {
				t.Errorf("paths asked by two calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.body, s.calls()[len(paths)-1].Body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitsAreKept(t *testing.T) {
	t.Parallel()
	for _, kind := range rerank.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
				reply(w, http.StatusOK, `[{"index":0,"score":1}]`)
			})
			p := provider(t, kind, s.URL, "m")
			l := p.Limits()
			cases := []struct {
				name            string
				query           int
				documents, each int
				fits            bool
			}{
				{"as long as may be", 10, 1, l.Bytes, true},
				{"a text too long", 10, 1, l.Bytes + 1, false},
				{"too many", 10, l.Documents + 1, 1, false},
				{"too much together", l.TotalBytes, 1, 1, false},
			}
			for _, c := range cases {
				before := len(s.calls())
				texts := slices.Repeat([]string{string(make([]byte, c.each))}, c.documents)
				_, err := p.Rerank(t.Context(), string(make([]byte, c.query)), texts)
				if asked := len(s.calls()) > before; asked != c.fits || (err == nil) != c.fits {
					t.Errorf("%s: asked %v, error %v, want it to fit: %v", c.name, asked, err, c.fits)
				}
			}
		})
	}
}

// When no way of asking is understood, the error is that of the way that came nearest.
func TestTheTellingErrorIsGiven(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		if r.URL.Path != "/rerank" {
			reply(w, http.StatusNotFound, `{"detail":"Not Found"}`)
			return
		}
		reply(w, http.StatusBadRequest, `{"error":"the model m is not loaded"}`)
	})
	_, err := provider(t, rerank.Compatible, s.URL, "m").Rerank(t.Context(), "q", []string{"a"})
	if err == nil || !strings.Contains(err.Error(), "not loaded") || len(s.calls()) != 3 {
		t.Errorf("error is %v after %d calls, want that of the path that there is after three", err, len(s.calls()))
	}
}
