package builtin

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/embeddingtest"
)

func TestProvider(t *testing.T) {
	t.Parallel()
	embeddingtest.Run(t, New(), embeddingtest.Features{Local: true})
}

func TestPathVectorUsesTheLastWords(t *testing.T) {
	t.Parallel()
	p := New()
	long := p.PathVector("a/b/c/d/e/f/g/h/i/j/pkg/server/batch.go")
	if !slices.Equal(long, p.PathVector("z/b/c/d/e/f/g/h/i/j/pkg/server/batch.go")) {
		t.Error("a word before the last twelve changed the vector")
	}
	if slices.Equal(long, p.PathVector("a/b/c/d/e/f/g/h/i/j/pkg/server/other.go")) {
		t.Error("the file name did not change the vector")
	}
}

// The bag must count the same however often it grew, or texts would differ by history.
func TestBagGrowth(t *testing.T) {
	t.Parallel()
	b := newBag()
	for round := range 2 {
		for i := range uint64(5000) {
			b.add(i * 0x9e3779b97f4a7c15)
			b.add(i * 0x9e3779b97f4a7c15)
		}
		if len(b.order) != 5000 {
			t.Fatalf("round %d: %d distinct words, want 5000", round, len(b.order))
		}
		for _, slot := range b.order {
			if b.counts[slot] != 2 {
				t.Fatalf("round %d: a word counted %d times, want 2", round, b.counts[slot])
			}
		}
		b.reset()
	}
}

func BenchmarkEmbed(b *testing.B) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		b.Fatal(err)
	}
	var texts []string
	size := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		for len(data) > 1500 {
			texts = append(texts, string(data[:1500]))
			size += 1500
			data = data[1500:]
		}
	}
	p := New()
	b.SetBytes(int64(size))
	for b.Loop() {
		if _, err := p.Embed(b.Context(), embedding.Document, texts); err != nil {
			b.Fatal(err)
		}
	}
}
