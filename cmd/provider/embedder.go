// Package provider chooses the services that text is sent to, from the environment alone:
// nothing in a repository has a say in it, and without a choice nothing leaves the machine.
package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/pipeline/embedding/gemini"
	"github.com/freshet/freshet/pipeline/embedding/ollama"
	"github.com/freshet/freshet/pipeline/embedding/openai"
	"github.com/freshet/freshet/pipeline/embedding/served"
	"github.com/freshet/freshet/pipeline/embedding/voyage"
	"github.com/freshet/freshet/pipeline/remote"
)

// The embedding providers.
const (
	Builtin = "builtin"
	OpenAI  = "openai"
	Ollama  = "ollama"
	Voyage  = "voyage"
	Gemini  = "gemini"
)

// Embedders are the names that FRESHET_EMBEDDER takes.
func Embedders() []string { return []string{Builtin, OpenAI, Ollama, Voyage, Gemini} }

// Embedder is the choice of an embedding provider, as read from the environment. It is
// comparable.
type Embedder struct {
	Name, URL, Model, Key       string
	Dimension                   int // 0 when the operator does not say
	Concurrency                 int // 0 takes the provider's own
	QueryPrefix, DocumentPrefix string
}

// EmbedderFromEnvironment reads FRESHET_EMBEDDER and the variables that begin with its
// name. Errors name the variable.
func EmbedderFromEnvironment(getenv func(string) string) (Embedder, error) {
	e := Embedder{
		Name: getenv("FRESHET_EMBEDDER"), URL: getenv("FRESHET_EMBEDDER_URL"), Model: getenv("FRESHET_EMBEDDER_MODEL"),
		Key: getenv("FRESHET_EMBEDDER_KEY"), QueryPrefix: getenv("FRESHET_EMBEDDER_QUERY_PREFIX"),
		DocumentPrefix: getenv("FRESHET_EMBEDDER_DOCUMENT_PREFIX"),
	}
	var err error
	if e.Dimension, err = number(getenv, "FRESHET_EMBEDDER_DIMENSION", embedding.MaxDimension); err != nil {
		return e, err
	}
	if e.Concurrency, err = number(getenv, "FRESHET_EMBEDDER_CONCURRENCY", 64); err != nil {
		return e, err
	}
	if e.Name == "" || e.Name == Builtin {
		if other := (Embedder{Name: e.Name}); e != other {
			return e, errors.New("a variable that begins with FRESHET_EMBEDDER_ is set and FRESHET_EMBEDDER names no provider for it: set FRESHET_EMBEDDER to " + strings.Join(Embedders()[1:], ", ") + ", or unset it")
		}
		e.Name = Builtin
		return e, nil
	}
	if !slices.Contains(Embedders(), e.Name) {
		return e, fmt.Errorf("FRESHET_EMBEDDER is %q: want %s", e.Name, strings.Join(Embedders(), ", "))
	}
	return e.complete(getenv)
}

// complete fills in what each provider has a default for.
func (e Embedder) complete(getenv func(string) string) (Embedder, error) {
	defaults := map[string]struct{ url, model, key string }{
		OpenAI: {openai.URL, "", "OPENAI_API_KEY"},
		Ollama: {ollama.URL, "", ""},
		Voyage: {voyage.URL, voyage.Model, "VOYAGE_API_KEY"},
		Gemini: {gemini.URL, gemini.Model, "GEMINI_API_KEY"},
	}[e.Name]
	own := e.URL == ""
	if own {
		e.URL = defaults.url
	}
	if e.Model == "" {
		e.Model = defaults.model
	}
	if e.Key == "" && own && defaults.key != "" { // a key goes to no other address than its own
		if e.Key = getenv(defaults.key); e.Key == "" {
			return e, fmt.Errorf("%s wants a key: set FRESHET_EMBEDDER_KEY or %s", e.Name, defaults.key)
		}
	}
	if e.Model == "" {
		return e, fmt.Errorf("FRESHET_EMBEDDER is %s and no model is named: set FRESHET_EMBEDDER_MODEL", e.Name)
	}
	if (e.QueryPrefix != "" || e.DocumentPrefix != "") && e.Name != OpenAI && e.Name != Ollama {
		return e, fmt.Errorf("%s tells queries from documents by itself: unset FRESHET_EMBEDDER_QUERY_PREFIX and FRESHET_EMBEDDER_DOCUMENT_PREFIX", e.Name)
	}
	if _, err := e.service(); err != nil {
		return e, fmt.Errorf("FRESHET_EMBEDDER_URL, FRESHET_EMBEDDER_KEY: %w", err)
	}
	return e, nil
}

func number(getenv func(string) string, name string, most int) (int, error) {
	value := getenv(name)
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s is %q: want a number from 1 to %d", name, value, most)
	}
	return n, nil
}

func (e Embedder) service() (*remote.Service, error) {
	o := remote.Options{URL: e.URL, Key: e.Key}
	if e.Name == Gemini {
		o.KeyHeader = gemini.KeyHeader
	}
	return remote.New(o)
}

// Remote reports whether texts leave this machine.
func (e Embedder) Remote() bool {
	if e.Name == "" || e.Name == Builtin {
		return false
	}
	s, err := e.service()
	return err != nil || !s.Local()
}

// openTimeout bounds what is asked of a service before the first text.
const openTimeout = 20 * time.Second

// Open returns the provider. A service whose model or dimension is not known is asked for
// them; what it said is kept in memory, so that the next process can begin while the
// service is away.
func (e Embedder) Open(ctx context.Context, memory Memory) (embedding.Querier, error) {
	if e.Name == "" || e.Name == Builtin {
		return builtin.New(), nil
	}
	service, err := e.service()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	o := e.options(service)
	known, err := e.ask(ctx, service, o)
	if err != nil {
		var ok bool
		if known, ok = memory.recall(e); !ok {
			service.Close()
			return nil, fmt.Errorf("the embedding provider %s with the model %s: %w: start it, put the FRESHET_EMBEDDER variables right, or unset them to use the built-in model", e.Name, e.Model, err)
		}
	} else if err := memory.keep(e, known); err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	o.Artifact, o.Dimension = known.Artifact, known.Dimension
	p, err := served.New(o)
	if err != nil {
		service.Close()
		return nil, err
	}
	return p, nil
}

// options are those of the provider, without what the service must be asked for.
func (e Embedder) options(service *remote.Service) served.Options {
	o := served.Options{Service: service, Name: e.Name, Model: e.Model, Shape: []string{e.QueryPrefix, e.DocumentPrefix}}
	switch e.Name {
	case OpenAI:
		o.Wire = &openai.Wire{Service: service, Model: e.Model, Dimensions: e.Dimension, QueryPrefix: e.QueryPrefix, DocumentPrefix: e.DocumentPrefix}
		o.Limits = openai.Limits()
	case Ollama:
		o.Wire = &ollama.Wire{Service: service, Model: e.Model, Dimensions: e.Dimension, QueryPrefix: e.QueryPrefix, DocumentPrefix: e.DocumentPrefix}
		o.Limits = ollama.Limits()
	case Voyage:
		o.Wire, o.Limits = &voyage.Wire{Service: service, Model: e.Model, Dimensions: e.Dimension}, voyage.Limits()
	case Gemini:
		o.Wire, o.Limits = &gemini.Wire{Service: service, Model: e.Model, Dimensions: e.Dimension}, gemini.Limits()
		o.TextBytes = gemini.TextBytes
	}
	if e.Concurrency > 0 {
		o.Limits.Concurrency = e.Concurrency
	}
	return o
}

// ask finds out what identifies the model: the digest of its weights where the service
// tells it, and the dimension of its vectors where nobody has said it.
func (e Embedder) ask(ctx context.Context, service *remote.Service, o served.Options) (known, error) {
	k := known{Dimension: e.Dimension}
	if e.Name == Ollama {
		var err error
		if k.Artifact, err = ollama.Digest(ctx, service, e.Model); err != nil {
			return k, err
		}
	}
	if k.Dimension == 0 && service.Host() == hostOf(openai.URL) {
		k.Dimension = openai.Dimension(e.Model)
	}
	switch {
	case k.Dimension != 0:
	case e.Name == Voyage:
		k.Dimension = voyage.Dimension(e.Model)
	case e.Name == Gemini:
		k.Dimension = gemini.Dimension(e.Model)
	}
	if k.Dimension != 0 {
		return k, nil
	}
	rows, err := o.Wire.Embed(ctx, embedding.Document, []string{"func main() {}"}, 4<<20)
	if err != nil {
		return k, err
	}
	if len(rows) != 1 || len(rows[0]) == 0 {
		return k, errors.New("the service gave no vector for a text: the model may not be one for embeddings")
	}
	k.Dimension = len(rows[0])
	return k, nil
}

func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}
