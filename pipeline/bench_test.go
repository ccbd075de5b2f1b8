package pipeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/freshet/freshet/pipeline/chunk"
	"github.com/freshet/freshet/pipeline/embedding"
	"github.com/freshet/freshet/pipeline/embedding/builtin"
	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

// BenchmarkChunks is what one core does for a chunk after it was cut: its text through the
// built-in model, and its words and its vector into a segment. It runs over this project's
// own sources.
func BenchmarkChunks(b *testing.B) {
	paths, err := filepath.Glob("../*/*/*.go")
	if err != nil {
		b.Fatal(err)
	}
	var files []segment.File
	chunks, size := 0, 0
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		f := segment.File{Entry: store.FileEntry{Path: path, Language: "Go"}, Content: content, Syntax: chunk.Cut("Go", content)}
		files = append(files, f)
		chunks += len(f.Syntax.Chunks)
		size += len(content)
	}
	provider := builtin.New()
	dimension := provider.Recipe().Dimension
	for b.Loop() {
		builder := segment.NewBuilder(segment.Options{Dimension: dimension})
		for _, f := range files {
			var texts []string
			for _, c := range f.Syntax.Chunks {
				texts = append(texts, store.EmbedText(c.Breadcrumb, f.Content[c.Start:c.End]))
			}
			vectors, err := provider.Embed(b.Context(), embedding.Document, texts)
			if err != nil {
				b.Fatal(err)
			}
			f.Vectors = map[merkle.Hash]store.Vector{}
			for i, c := range f.Syntax.Chunks {
				f.Vectors[c.TextHash] = store.Quantize(vectors[i])
			}
			if err := builder.Add(f); err != nil {
				b.Fatal(err)
			}
		}
	}
	perRound := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(float64(chunks)/perRound, "chunks/s")
	b.ReportMetric(float64(size)/float64(chunks), "B/chunk")
}
