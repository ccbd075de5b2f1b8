package chunk

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// TestNothingThatFitsIsDivided looks at definitions that fit with their comments.
func TestNothingThatFitsIsDivided(t *testing.T) {
	t.Parallel()
	c := newCutter(stepLimit)
	defer c.close()
	for i, content := range sources(t)["Go"] {
		s, err := c.cut("Go", content)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range s.Definitions {
			whole := bytes.Count(content[d.Start:d.End], []byte("\n")) < maxLines/2 && d.End-d.Start < maxBytes/2
			if d.Parent >= 0 && d.Kind == "field" || !whole {
				continue
			}
			if !inOneChunk(s.Chunks, d.Start, d.End) {
				t.Errorf("file %d: %s %s of %d bytes at line %d is divided", i, d.Kind, d.Name, d.End-d.Start, d.StartLine)
			}
		}
	}
}

func inOneChunk(chunks []store.Chunk, start, end uint32) bool {
	for _, c := range chunks {
		if c.Start <= start && end <= c.End {
			return true
		}
	}
	return false
}

// TestAnEditStaysLocal adds a line to a function of a large file: its chunk changes, and
// at most the neighbours.
func TestAnEditStaysLocal(t *testing.T) {
	t.Parallel()
	c := newCutter(stepLimit)
	defer c.close()
	random := rand.New(rand.NewPCG(5, 6))
	edits, changed, worst := 0, 0, 0
	for _, content := range sources(t)["Go"] {
		before, err := c.cut("Go", content)
		if err != nil || len(before.Chunks) < 10 {
			continue
		}
		for range 3 {
			d := before.Definitions[random.IntN(len(before.Definitions))]
			body := bytes.Index(content[d.Start:d.End], []byte("{\n"))
			if body < 0 || d.Kind != "function" && d.Kind != "method" {
				continue
			}
			at := int(d.Start) + body + 2
			edited := append(bytes.Clone(content[:at]), "\tprintln(\"edited\")\n"...)
			after, err := c.cut("Go", append(edited, content[at:]...))
			if err != nil {
				t.Fatal(err)
			}
			n := newTexts(before, after)
			edits, changed, worst = edits+1, changed+n, max(worst, n)
		}
	}
	if edits < 100 || worst > 5 || changed > 3*edits/2 {
		t.Errorf("%d edits changed %d chunks, the worst %d", edits, changed, worst)
	}
}

// newTexts counts the chunks of after whose vectors before did not need.
func newTexts(before, after store.Syntax) int {
	known := map[merkle.Hash]bool{}
	for _, c := range before.Chunks {
		known[c.TextHash] = true
	}
	n := 0
	for _, c := range after.Chunks {
		if !known[c.TextHash] {
			n++
		}
	}
	return n
}

func FuzzFallback(f *testing.F) {
	f.Add([]byte("a\n\n  b\n    c\n}\n"))
	f.Add(bytes.Repeat([]byte("word "), 2000))
	f.Add(bytes.Repeat([]byte("\n"), 300))
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := checkSyntax(content, Fallback(content)); err != nil {
			t.Error(err)
		}
	})
}

// FuzzStructures cuts in the languages that are read by our own scanners.
func FuzzStructures(f *testing.F) {
	var scanned []language
	for _, l := range languages() {
		if l.cut == store.CutStructure {
			scanned = append(scanned, l)
			f.Add(fixtureSource(f, l.name), uint8(len(scanned)-1))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, which uint8) {
		l := scanned[int(which)%len(scanned)]
		if err := checkSyntax(content, Cut(l.name, content)); err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
	})
}
