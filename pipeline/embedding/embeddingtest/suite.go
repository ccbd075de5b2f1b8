// Package embeddingtest is the definition of a correct embedding provider.
package embeddingtest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freshet/freshet/pipeline/embedding"
)

// Features say what a provider promises beyond the contract.
type Features struct {
	// Local providers give the same bits for the same text, always.
	Local bool
}

// Run checks a provider against the contract of embedding.Provider.
func Run(t *testing.T, p embedding.Provider, f Features) {
	t.Helper()
	t.Run("recipe", func(t *testing.T) { checkRecipe(t, p, f) })
	texts := []string{
		"func Close() error { return s.conn.Close() }", "", "\x00\xff", "batch log entries before push",
		strings.Repeat("word other ", 5000), "ключ 名前", "batch log entries before push",
	}
	t.Run("shape", func(t *testing.T) { checkShape(t, p, texts) })
	t.Run("batching changes nothing", func(t *testing.T) {
		together := embed(t, p, texts)
		for i, text := range texts {
			if alone := embed(t, p, []string{text})[0]; !same(alone, together[i], f.Local) {
				t.Errorf("text %d alone differs from the same text in a batch", i)
			}
		}
	})
	t.Run("like texts are near", func(t *testing.T) {
		v := embed(t, p, []string{
			"close the network connection of the server", "the server closes its network connection",
			"parse a yaml document into nodes",
		})
		if near, far := dot(v[0], v[1]), dot(v[0], v[2]); near <= far {
			t.Errorf("similarity of like texts %.3f, of unlike texts %.3f", near, far)
		}
	})
	t.Run("concurrent calls", func(t *testing.T) { checkConcurrent(t, p, f, texts) })
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Embed(ctx, embedding.Document, texts); !errors.Is(err, context.Canceled) {
			t.Errorf("embed after cancel: %v, want context.Canceled", err)
		}
	})
}

func checkRecipe(t *testing.T, p embedding.Provider, f Features) {
	t.Helper()
	r := p.Recipe()
	if r.Provider == "" || r.Model == "" || r.Normalization == "" || r.Dimension < 1 {
		t.Errorf("recipe %+v has an empty field", r)
	}
	if f.Local && r.Artifact == "" {
		t.Error("a local provider names no artifact")
	}
	if p.Recipe() != r {
		t.Error("the recipe changed")
	}
	l := p.Limits()
	if l.BatchTexts < 1 || l.BatchBytes < 1 || l.Concurrency < 1 {
		t.Errorf("limits %+v: each must be at least 1", l)
	}
}

func checkConcurrent(t *testing.T, p embedding.Provider, f Features, texts []string) {
	t.Helper()
	want := embed(t, p, texts)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := p.Embed(t.Context(), embedding.Document, texts)
			if err != nil {
				t.Errorf("embed: %v", err)
				return
			}
			for i := range got {
				if !same(got[i], want[i], f.Local) {
					t.Errorf("text %d differs", i)
				}
			}
		})
	}
	wg.Wait()
}

func checkShape(t *testing.T, p embedding.Provider, texts []string) {
	t.Helper()
	for i, v := range embed(t, p, texts) {
		if len(v) != p.Recipe().Dimension {
			t.Fatalf("text %d has %d dimensions, want %d", i, len(v), p.Recipe().Dimension)
		}
		norm := math.Sqrt(dot(v, v))
		if math.IsNaN(norm) || (norm != 0 && math.Abs(norm-1) > 1e-3) {
			t.Errorf("text %d has norm %g, want 1 or 0", i, norm)
		}
	}
	none, err := p.Embed(t.Context(), embedding.Document, nil)
	if err != nil || len(none) != 0 {
		t.Errorf("embedding nothing gives %d vectors, %v", len(none), err)
	}
}

func embed(t *testing.T, p embedding.Provider, texts []string) [][]float32 {
	t.Helper()
	vectors, err := p.Embed(t.Context(), embedding.Document, texts)
	if err != nil {
		t.Fatalf("embed: %v", err)
	}
	if len(vectors) != len(texts) {
		t.Fatalf("%d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors
}

func same(a, b []float32, exact bool) bool {
	if exact {
		return slices.Equal(a, b)
	}
	return len(a) == len(b) && dot(a, b) > 0.999 || dot(a, a) == dot(b, b)
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
