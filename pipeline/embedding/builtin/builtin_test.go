package builtin

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin/table"
	"github.com/freshet/freshet/pipeline/embedding/embeddingtest"
)

func TestProvider(t *testing.T) {
	t.Parallel()
	embeddingtest.Run(t, New(), embeddingtest.Features{Local: true})
}

func TestShippedModelIsWhatItsCardSays(t *testing.T) {
	t.Parallel()
	card := ShippedCard()
	sum := sha256.Sum256([]byte(shippedTable))
	if got := hex.EncodeToString(sum[:]); got != card.Artifact {
		t.Errorf("the table has sha256 %s, its card says %s", got, card.Artifact)
	}
	model, err := table.Open(shippedTable)
	if err != nil {
		t.Fatal(err)
	}
	if model.Words() != card.Words || model.Dimension() != card.Dimension {
		t.Errorf("the table has %d words of %d components, its card says %d of %d",
			model.Words(), model.Dimension(), card.Words, card.Dimension)
	}
	if size := len(shippedTable); size > 8<<20 {
		t.Errorf("the table has %d bytes, more than 8 MiB", size)
	}
	notice, err := os.ReadFile("model/NOTICE.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(notice), card.Corpus) {
		t.Errorf("NOTICE.txt does not name the corpus %s", card.Corpus)
	}
}

func TestMalformedModel(t *testing.T) {
	t.Parallel()
	p := NewModel(Card{Dimension: 256}, "no table")
	if _, err := p.Embed(t.Context(), embedding.Document, []string{"x"}); err == nil {
		t.Error("a malformed model embeds")
	}
	if v := p.PathVector("a/b.go"); v != nil {
		t.Errorf("a malformed model gives a path the vector %v", v)
	}
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

// BenchmarkOpen is what a short verb pays for the model before its first text.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		if _, err := New().EmbedQuery(b.Context(), "close the connection"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEmbed(b *testing.B) {
	files, err := filepath.Glob("../../../store/*/*.go")
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
