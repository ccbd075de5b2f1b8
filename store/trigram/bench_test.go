package trigram_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/freshet/freshet/store/trigram"
)

// BenchmarkBuild indexes the source tree that FRESHET_BENCH_TREE names, this one by default,
// in one index, and gives its size as a share of the texts.
func BenchmarkBuild(b *testing.B) {
	root := os.Getenv("FRESHET_BENCH_TREE")
	if root == "" {
		root = "../.."
	}
	var texts [][]byte
	size := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > 1<<20 || size > 48<<20 || len(texts) == 8192 {
			return err
		}
		if text, err := os.ReadFile(path); err == nil {
			texts, size = append(texts, text), size+len(text)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size))
	var data []byte
	for b.Loop() {
		builder := trigram.NewBuilder()
		for _, text := range texts {
			builder.Add(text)
		}
		data = builder.Bytes()
	}
	b.ReportMetric(float64(len(data))/float64(size), "of-source")
	b.ReportMetric(float64(len(texts)), "texts")
}
