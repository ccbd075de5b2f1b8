package rerank

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Default returns the default address and model of a kind, "" where there is none.
func Default(k Kind) (address, model string) {
	switch k {
	case Voyage:
		return "https://api.voyageai.com", "rerank-2.5-lite" // of the two, the one made for speed
	case Cohere:
		return "https://api.cohere.com", "rerank-v3.5"
	default:
		return "", ""
	}
}

// limits returns the documented limits of the services, in bytes, of which a token has at
// least one. Self-hosted servers are assumed to run with their defaults:
// text-embeddings-inference accepts 32 texts, llama.cpp a batch of 512 tokens, into which text
// and query together must fit.
func limits(k Kind) Limits {
	switch k {
	case Voyage:
		return Limits{Documents: 1000, Bytes: 24_000, TotalBytes: 600_000}
	case Cohere:
		return Limits{Documents: 1000, Bytes: 12_000, TotalBytes: 1 << 20}
	default:
		return Limits{Documents: 32, Bytes: 1200, TotalBytes: 64 << 10}
	}
}

// dialect is one request format for scores.
type dialect struct {
	path    string
	request func(model, query string, documents []string) any
}

// dialects returns the request formats to try, the likeliest first. Compatible servers differ
// in the path and in the name of the texts, and refuse others, so that the first call finds
// the right one. An address that ends in the version, or in rerank, already has that part of
// the path.
func dialects(k Kind, address string) []dialect {
	switch k {
	case Voyage:
		return []dialect{{path(address, "/v1"), askVoyage}}
	case Cohere:
		return []dialect{{path(address, "/v2"), askCohere}}
	}
	likeliest := path(address, "/v1")
	if likeliest == "/v1/rerank" {
		return []dialect{{likeliest, askDocuments}, {"/rerank", askDocuments}, {"/rerank", askTexts}}
	}
	return []dialect{{likeliest, askDocuments}, {likeliest, askTexts}}
}

// path returns the part of the path that an address lacks.
func path(address, version string) string {
	address = strings.TrimSuffix(address, "/")
	switch {
	case strings.HasSuffix(address, "/rerank"), strings.HasSuffix(address, "/reranking"):
		return ""
	case strings.HasSuffix(address, version):
		return "/rerank"
	}
	return version + "/rerank"
}

func askVoyage(model, query string, documents []string) any {
	return struct {
		Model      string   `json:"model"`
		Query      string   `json:"query"`
		Documents  []string `json:"documents"`
		Truncation bool     `json:"truncation"`
	}{model, query, documents, true}
}

func askCohere(model, query string, documents []string) any {
	return struct {
		Model     string   `json:"model"`
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
	}{model, query, documents}
}

// askDocuments builds the request of Jina, vLLM, llama.cpp and Infinity.
func askDocuments(model, query string, documents []string) any {
	return struct {
		Model           string   `json:"model,omitempty"`
		Query           string   `json:"query"`
		Documents       []string `json:"documents"`
		TopN            int      `json:"top_n"`
		ReturnDocuments bool     `json:"return_documents"`
	}{model, query, documents, len(documents), false}
}

// askTexts builds the request of text-embeddings-inference; the model is the server's.
func askTexts(_, query string, documents []string) any {
	return struct {
		Query    string   `json:"query"`
		Texts    []string `json:"texts"`
		Truncate bool     `json:"truncate"`
	}{query, documents, true}
}

// scored is one score of an answer. The services disagree on its name.
type scored struct {
	Index          *int     `json:"index"`
	RelevanceScore *float64 `json:"relevance_score"`
	Score          *float64 `json:"score"`
}

// readScores reads an answer of any of the services: a list of scores in any order, alone or
// under results or data. It wants exactly one finite score for each of n texts.
func readScores(answer []byte, n int) ([]float64, error) {
	var list []scored
	if answer = bytes.TrimSpace(answer); len(answer) > 0 && answer[0] == '[' {
		if err := json.Unmarshal(answer, &list); err != nil {
			return nil, err
		}
	} else {
		var object struct {
			Results, Data []scored
		}
		if err := json.Unmarshal(answer, &object); err != nil {
			return nil, err
		}
		if list = object.Results; list == nil {
			list = object.Data
		}
	}
	if len(list) != n {
		return nil, fmt.Errorf("%d scores for %d texts", len(list), n)
	}
	scores, seen := make([]float64, n), make([]bool, n)
	for _, s := range list {
		score := s.RelevanceScore
		if score == nil {
			score = s.Score
		}
		switch {
		case s.Index == nil || score == nil:
			return nil, errors.New("a score without an index, or an index without a score")
		case *s.Index < 0 || *s.Index >= n:
			return nil, fmt.Errorf("a score for text %d of %d", *s.Index, n)
		case seen[*s.Index]:
			return nil, fmt.Errorf("two scores for text %d", *s.Index)
		case math.IsNaN(*score) || math.IsInf(*score, 0):
			return nil, fmt.Errorf("the score %v for text %d", *score, *s.Index)
		}
		seen[*s.Index], scores[*s.Index] = true, *score
	}
	return scores, nil
}
