package search_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/search/reference"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

const dimension = 66

var vocabulary = []string{"push", "pushing", "batch", "batches", "logEntry", "LogEntry", "HTTPServer", "server_close", "retry", "err", "close", "test", "x9"}

// drawFile makes a file of a few chunks with definitions and vectors.
func drawFile(t *rapid.T, path string) segment.File {
	word := rapid.SampledFrom(vocabulary)
	f := segment.File{Entry: store.FileEntry{Path: path, Language: rapid.SampledFrom([]string{"Go", "C", "", "JSON"}).Draw(t, "language"),
		Flags: rapid.SampledFrom([]store.FileFlags{0, 0, 0, store.FlagTest, store.FlagDocs, store.FlagVendored}).Draw(t, "flags")},
		Vectors: map[merkle.Hash]store.Vector{}}
	if rapid.Bool().Draw(t, "path vector") {
		f.PathVector = drawUnit(t)
	}
	line := uint32(1)
	for range rapid.IntRange(0, 5).Draw(t, "chunks") {
		start := uint32(len(f.Content))
		c := store.Chunk{Start: start, StartLine: line, Breadcrumb: rapid.SampledFrom([]string{"", "class Server"}).Draw(t, "crumb")}
		for range rapid.SampledFrom([]int{1, 2, 3, 30}).Draw(t, "lines") {
			if rapid.IntRange(0, 3).Draw(t, "define") == 0 {
				n := len(f.Syntax.Definitions)
				f.Syntax.Definitions = append(f.Syntax.Definitions, store.Definition{Name: word.Draw(t, "name"),
					Kind:  rapid.SampledFrom([]string{"function", "class", "field"}).Draw(t, "kind"),
					Start: uint32(len(f.Content)), End: uint32(len(f.Content)) + 1, StartLine: line, EndLine: line,
					Parent: int32(rapid.IntRange(-1, n-1).Draw(t, "parent"))})
			}
			f.Content = append(f.Content, strings.Join(rapid.SliceOfN(word, 0, 5).Draw(t, "words"), " ")+"\n"...)
			line++
		}
		c.End, c.EndLine = uint32(len(f.Content)), line-1
		c.TextHash = sha256.Sum256([]byte(store.EmbedText(c.Breadcrumb, f.Content[c.Start:c.End])))
		if rapid.IntRange(0, 3).Draw(t, "vector") > 0 {
			f.Vectors[c.TextHash] = store.Quantize(drawUnit(t))
		}
		f.Syntax.Chunks = append(f.Syntax.Chunks, c)
	}
	// Two files with the same bytes have the same syntax, so the name counts both.
	f.Entry.Content, f.Entry.Size = sha256.Sum256(fmt.Appendf(bytes.Clone(f.Content), "%v", f.Syntax)), int64(len(f.Content))
	return f
}

// drawUnit makes a vector of few distinct directions, so that ties happen.
func drawUnit(t *rapid.T) []float32 {
	v := make([]float32, dimension)
	seed := rapid.Uint64Range(1, 40).Draw(t, "vector")
	for i := range v {
		seed = seed*6364136223846793005 + 1442695040888963407
		v[i] = float32(int8(seed>>56)) / 1000
	}
	return v
}

func drawQuery(t *rapid.T) search.Query {
	q := search.Query{Mode: rapid.SampledFrom(search.Modes()).Draw(t, "mode"),
		Limit: rapid.SampledFrom([]int{1, 5, 100}).Draw(t, "limit"), Offset: rapid.IntRange(0, 3).Draw(t, "offset"),
		AllChunks: rapid.Bool().Draw(t, "all")}
	words := rapid.SampledFrom(append([]string{"the", "unheard", "dir1", "a.go", "Server.close"}, vocabulary...))
	q.Text = strings.Join(rapid.SliceOfN(words, 1, 4).Draw(t, "text"), rapid.SampledFrom([]string{" ", "."}).Draw(t, "joint"))
	switch q.Mode {
	case search.ModeRegex:
		q.Text = rapid.SampledFrom([]string{"close", "^x9", "(push|batch) .*", "s.rver", "retry$", "unheard", "(?i)HTTP"}).Draw(t, "pattern")
	case search.ModeExact:
		q.Text = rapid.SampledFrom([]string{"close", "Close", "push b", "HTTP", "ſ", "e", "unheard", " "}).Draw(t, "literal")
		q.Case = rapid.SampledFrom(append(search.Cases(), "")).Draw(t, "case")
	case search.ModePath:
		q.Text = rapid.SampledFrom([]string{q.Text, "*.go", "dir1/**", "push0.go", "dir0/batch1.go", "**/close?.c"}).Draw(t, "path")
	}
	globs := rapid.SampledFrom([]string{"dir1", "*.go", "!dir2", "dir0/*.go", "**/push*", "dir?/**", "!*.c", "/dir1/push1.go"})
	q.Paths = rapid.SliceOfN(globs, 0, 2).Draw(t, "globs")
	q.Languages = rapid.SliceOfN(rapid.SampledFrom([]string{"go", "C", ".c"}), 0, 2).Draw(t, "languages")
	q.Kinds = rapid.SliceOfN(rapid.SampledFrom([]string{"class", "function"}), 0, 1).Draw(t, "kinds")
	return q
}

// drawView cuts live files into segments in random order, dead ones between them.
func drawView(t *rapid.T, m *memory, live []segment.File) store.View {
	var view store.View
	var files []segment.File
	var dead []uint32
	flush := func() {
		view.Segments = append(view.Segments, m.put(t, files, dimension, dead...))
		files, dead = nil, nil
	}
	for _, f := range rapid.Permutation(live).Draw(t, "order") {
		if rapid.IntRange(0, 2).Draw(t, "dead") == 0 {
			dead = append(dead, uint32(len(files)))
			files = append(files, drawFile(t, f.Entry.Path))
		}
		files = append(files, f)
		if rapid.IntRange(0, 2).Draw(t, "cut") == 0 {
			flush()
		}
	}
	flush()
	return view
}

func TestEngineEqualsReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var live []segment.File
		for i := range rapid.IntRange(0, 8).Draw(t, "files") {
			folder := rapid.SampledFrom([]string{"", "dir0/", "dir1/", "push/", "dir2/examples/"}).Draw(t, "folder")
			name := rapid.SampledFrom(append([]string{"index.", "mod."}, vocabulary...)).Draw(t, "file")
			live = append(live, drawFile(t, fmt.Sprintf("%s%s%d%s", folder, name, i, rapid.SampledFrom([]string{".go", ".c", ".h"}).Draw(t, "ext"))))
		}
		corpus := reference.Corpus{Files: live, Vector: drawUnit(t), Oversample: rapid.SampledFrom([]int{2, 5, 1000}).Draw(t, "oversample")}
		query := embedder{vector: corpus.Vector}
		if rapid.IntRange(0, 4).Draw(t, "embedder fails") == 0 {
			query.err, corpus.Vector = fmt.Errorf("down"), nil
		}
		q := drawQuery(t)
		m := newMemory()
		e := search.New(m, query, search.Options{Oversample: corpus.Oversample, IdleSegments: 1, RegexDeadline: time.Hour})
		view := drawView(t, m, live)
		for range 2 { // the second time with used scratch space
			got, err := e.Search(t.Context(), view, q)
			if bad := new(search.BadQuery); err != nil {
				if !errors.As(err, &bad) {
					t.Fatalf("search: %v", err)
				}
				return
			}
			got.Warnings, got.Places = nil, nil
			want := reference.Search(corpus, q)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("query %+v (-reference +engine):\n%s", q, diff)
			}
			explained := q
			explained.Explain = true
			again, err := e.Search(t.Context(), view, explained)
			if err != nil {
				t.Fatalf("explain: %v", err)
			}
			again.Warnings, again.Places = nil, nil
			for i := range again.Hits {
				again.Hits[i].Explain = nil
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Fatalf("explain changes the answer of %+v:\n%s", q, diff)
			}
		}
		if err := e.Close(); err != nil || m.open != 0 {
			t.Fatalf("close: %v, %d segments open", err, m.open)
		}
	})
}
