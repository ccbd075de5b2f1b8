package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet/freshet/pipeline/rerank"
	"github.com/freshet/freshet/store/search"
)

// Reranker is the choice of a reranker, as read from the environment. It is comparable; the
// zero value is none.
type Reranker struct {
	Kind            rerank.Kind
	URL, Model, Key string
	Policy          rerank.Policy
	Deadline        time.Duration
	// TextLeaves says that the embedder sends source text over the network already.
	TextLeaves bool
}

// defaultDeadline is how long a search waits for a reranker, and maxDeadline the most that
// an operator may say, in milliseconds.
const (
	defaultDeadline = 800
	maxDeadline     = 30_000
)

// RerankerFromEnvironment reads FRESHET_RERANKER and the variables that begin with its name.
// textLeaves is whether the embedder sends source text over the network. Errors name the
// variable.
func RerankerFromEnvironment(getenv func(string) string, textLeaves bool) (Reranker, error) {
	r := Reranker{
		Kind: rerank.Kind(getenv("FRESHET_RERANKER")), URL: getenv("FRESHET_RERANKER_URL"), Model: getenv("FRESHET_RERANKER_MODEL"),
		Key: getenv("FRESHET_RERANKER_KEY"), Policy: rerank.Policy(getenv("FRESHET_RERANKER_POLICY")), TextLeaves: textLeaves,
	}
	timeout, err := number(getenv, "FRESHET_RERANKER_TIMEOUT_MS", maxDeadline)
	if err != nil {
		return r, err
	}
	if r.Kind == "" {
		if none := (Reranker{TextLeaves: textLeaves}); r != none || timeout != 0 {
			return r, fmt.Errorf("a variable that begins with FRESHET_RERANKER_ is set and FRESHET_RERANKER is not: set it to %s, or unset them all", names(rerank.Kinds()))
		}
		return Reranker{}, nil
	}
	if timeout == 0 {
		timeout = defaultDeadline
	}
	r.Deadline = time.Duration(timeout) * time.Millisecond
	if r.Policy == "" {
		r.Policy = rerank.PolicyAuto
	}
	switch {
	case !slices.Contains(rerank.Kinds(), r.Kind):
		return r, fmt.Errorf("FRESHET_RERANKER is %q: want %s", r.Kind, names(rerank.Kinds()))
	case !slices.Contains(rerank.Policies(), r.Policy):
		return r, fmt.Errorf("FRESHET_RERANKER_POLICY is %q: want %s", r.Policy, names(rerank.Policies()))
	case r.Kind == rerank.Compatible && r.URL == "":
		return r, errors.New("FRESHET_RERANKER is compatible and no server is named: set FRESHET_RERANKER_URL")
	}
	if r.Key == "" && r.URL == "" { // a key goes to no other address than its own
		variable := map[rerank.Kind]string{rerank.Voyage: "VOYAGE_API_KEY", rerank.Cohere: "COHERE_API_KEY"}[r.Kind]
		if r.Key = getenv(variable); r.Key == "" {
			return r, fmt.Errorf("%s wants a key: set FRESHET_RERANKER_KEY or %s", r.Kind, variable)
		}
	}
	p, err := r.provider()
	if err != nil {
		return r, fmt.Errorf("FRESHET_RERANKER_URL, FRESHET_RERANKER_KEY: %w", err)
	}
	p.Close()
	return r, nil
}

func names[T ~string](all []T) string {
	out := make([]string, len(all))
	for i, name := range all {
		out[i] = string(name)
	}
	return strings.Join(out, ", ")
}

func (r Reranker) provider() (*rerank.Provider, error) {
	// The search keeps the deadline; this ends what it would leave behind.
	return rerank.New(rerank.Options{Kind: r.Kind, URL: r.URL, Model: r.Model, Key: r.Key, Timeout: r.Deadline + time.Second})
}

// Open returns what a search engine takes; the zero value when there is no reranker, or it
// is off. It sends nothing.
func (r Reranker) Open() (search.Reranking, error) {
	if r.Kind == "" || r.Policy == rerank.PolicyOff {
		return search.Reranking{}, nil
	}
	p, err := r.provider()
	if err != nil {
		return search.Reranking{}, err
	}
	return search.Reranking{Reranker: r.resolver(p), Bytes: min(textBytes, p.Limits().Bytes), Deadline: r.Deadline}, nil
}

// textBytes is as much of a hit as is sent where the service would take more: a chunk is
// seldom longer.
const textBytes = 2000

func (r Reranker) resolver(p *rerank.Provider) *rerank.Resolver {
	return rerank.NewResolver(p, rerank.ResolverOptions{Policy: r.Policy, Deadline: r.Deadline, TextLeaves: r.TextLeaves})
}

// Describe says in a line which service is asked, and in another why it is not, "" when it
// is. Both are "" when there is no reranker.
func (r Reranker) Describe() (service, off string) {
	if r.Kind == "" {
		return "", ""
	}
	p, err := r.provider()
	if err != nil {
		return string(r.Kind), err.Error()
	}
	defer p.Close()
	if err := r.resolver(p).Standing(); err != nil {
		off = err.Error()
	}
	return fmt.Sprintf("%v, policy %s, deadline %v", p, r.Policy, r.Deadline), off
}
