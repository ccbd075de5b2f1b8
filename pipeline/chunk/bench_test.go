package chunk

import (
	"testing"

	"github.com/freshet/freshet/store"
)

// BenchmarkCut reports MB/s of everything that is done for a content in a child: parsing,
// chunks, definitions, references and the encoding. The source is the language's fixture, a
// small file, and for Go the standard library's.
func BenchmarkCut(b *testing.B) {
	for _, l := range languages() {
		b.Run(l.name, func(b *testing.B) {
			contents := [][]byte{fixtureSource(b, l.name)}
			if l.name == "Go" {
				contents = sources(b)["Go"]
			}
			benchmarkCut(b, l.name, contents)
		})
	}
	b.Run("lines", func(b *testing.B) { benchmarkCut(b, "", sources(b)["Go"]) })
}

func benchmarkCut(b *testing.B, language string, contents [][]byte) {
	c := newCutter(stepLimit)
	defer c.close()
	size := 0
	for _, content := range contents {
		size += len(content)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var encoded []byte
	for b.Loop() {
		for _, content := range contents {
			s, err := c.cut(language, content)
			if err != nil {
				b.Fatal(err)
			}
			encoded = store.AppendSyntax(encoded[:0], s)
		}
	}
}
