package scan

import (
	"fmt"
	"testing"
)

// BenchmarkStatProof proves that a tree of 18,000 files in 2,250 directories has not
// changed.
func BenchmarkStatProof(b *testing.B) {
	w := newTree(b, settled())
	for i := range 18_000 {
		w.write(fmt.Sprintf("top%d/middle%d/low%d/file%d.go", i%15, i%150, i%2250, i), "package p\n")
	}
	r, err := w.try()
	w.must(err)
	w.index = r.Index
	b.ReportAllocs()
	for b.Loop() {
		r, err := w.try()
		if err != nil || r.Summary.HashedBytes != 0 || len(r.Stats) != 0 {
			b.Fatalf("%+v, %v", r.Summary, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/18, "us/1000files")
}

func BenchmarkClassify(b *testing.B) {
	text := []byte("// Package p does things.\npackage p\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"generated\") }\n")
	var c classifier
	for b.Loop() {
		c.classify("internal/server/handler.go", text)
	}
}
