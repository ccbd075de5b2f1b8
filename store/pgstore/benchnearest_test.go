package pgstore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
	pgvectorpgx "github.com/pgvector/pgvector-go/pgx"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

// benchChunksEnv is how many chunks BenchmarkNearest has; the default takes half a minute,
// 1,000,000 more than ten, and then needs -timeout.
const benchChunksEnv = "FRESHET_BENCH_CHUNKS"

// The shape of what BenchmarkNearest searches: chunks of files of segments, with the words
// of a vocabulary of which few are common, and vectors around centres.
const (
	wideChunks  = 10     // of a file
	wideSegment = 25_000 // chunks
	wideWords   = 20_000
	wideCentres = 500
	wideTop     = 100 // folders, each with a file in a hundred
)

// wide is a sealed snapshot of many chunks.
type wide struct {
	s       *Store
	view    store.View
	chunks  int
	random  *rand.Rand
	zipf    *rand.Zipf
	centres [][]float32
}

func (w *wide) words(n int) []byte {
	var text []byte
	for range n {
		text = append(append(text, spelled(w.zipf.Uint64())...), ' ')
	}
	return text
}

// spelled is a word that the tokeniser leaves whole.
func spelled(n uint64) string {
	const consonants, vowels = "bdfgklmnprtv", "aeiou"
	var word []byte
	for range 4 {
		word = append(word, consonants[n%12], vowels[n/12%5])
		n /= 60
	}
	return string(word)
}

func (w *wide) vector() []float32 {
	return around(w.random, w.centres[w.random.IntN(len(w.centres))], 0.7)
}

// file is a file with words and vectors.
func (w *wide) file(number int) segment.File {
	f := segment.File{Vectors: map[merkle.Hash]store.Vector{}}
	for n := range uint32(wideChunks) {
		start := uint32(len(f.Content))
		f.Content = append(f.Content, w.words(20)...)
		f.Content = append(f.Content, '\n')
		h := merkle.Hash(sha256.Sum256(fmt.Appendf(nil, "%d %d", number, n)))
		f.Syntax.Chunks = append(f.Syntax.Chunks, store.Chunk{Start: start, End: uint32(len(f.Content)), StartLine: n + 1, EndLine: n + 1, TextHash: h})
		f.Vectors[h] = store.Quantize(w.vector())
	}
	f.Syntax.Cut = store.CutLines
	f.Entry = store.FileEntry{
		Path: fmt.Sprintf("d%02d/f%07d.txt", number%wideTop, number), Content: merkle.Hash(sha256.Sum256(f.Content)), Size: int64(len(f.Content)),
	}
	return f
}

func newWide(b *testing.B, chunks int) *wide {
	b.Helper()
	random := rand.New(rand.NewPCG(11, uint64(chunks)))
	w := &wide{
		s: openTenant(b, Options{CandidatesFrom: 1}), chunks: chunks, random: random,
		zipf: rand.NewZipf(random, 1.1, 8, wideWords-1),
	}
	for range wideCentres {
		w.centres = append(w.centres, around(random, make([]float32, benchDim), 1))
	}
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	_, err := w.s.Register(b.Context(), store.Codebase{ID: "wide", Root: "/wide"})
	must(err)
	recipe := store.Recipe{Schema: segment.Version, Embedding: store.EmbeddingRecipe{Dimension: benchDim}}
	_, err = w.s.Open(b.Context(), store.Opening{Codebase: "wide", Number: 1, Recipe: recipe, Rebuild: true})
	must(err)
	var ids []store.SegmentID
	for file := 0; file < chunks/wideChunks; {
		builder := segment.NewBuilder(segment.Options{Dimension: benchDim})
		files := min(wideSegment/wideChunks, chunks/wideChunks-file)
		var contents []store.Content
		for range files {
			f := w.file(file)
			contents = append(contents, store.Content{Hash: f.Entry.Content, Data: f.Content})
			must(builder.Add(f))
			file++
		}
		must(w.s.PutContents(b.Context(), contents))
		data, err := builder.Finish()
		must(err)
		id, err := w.s.PutSegment(b.Context(), "wide", files, files*wideChunks, data)
		must(err)
		ids = append(ids, id)
	}
	must(w.s.Seal(b.Context(), store.Seal{Codebase: "wide", Number: 1, Level: store.LevelFull, Segments: ids}))
	w.view, err = w.s.View(b.Context(), "wide", 1)
	must(err)
	return w
}

// load puts all vectors into the set, without an index.
func (w *wide) load(ctx context.Context) (set int64, err error) {
	set, missing, err := w.s.openNearest(ctx, w.view, benchDim)
	for _, id := range missing {
		if err == nil {
			err = w.s.loadNearest(ctx, set, id, benchDim)
		}
	}
	return set, err
}

// query is what a person might ask: a few words, and a vector near that of some chunk.
func (w *wide) query() (text string, vector []float32) {
	return string(w.words(3)), w.vector()
}

// BenchmarkNearest measures candidates of a large codebase: what it takes to load their
// vectors, beside COPY of the same rows into a table of their own, to build their index,
// and to answer a query, in the engine and without.
func BenchmarkNearest(b *testing.B) {
	chunks := 20_000
	if n, err := strconv.Atoi(os.Getenv(benchChunksEnv)); err == nil {
		chunks = n
	}
	w := newWide(b, chunks)
	owner := rawConn(b, database(b), "")
	exec := func(b *testing.B, sql string, args ...any) {
		b.Helper()
		if _, err := owner.Exec(b.Context(), sql, args...); err != nil {
			b.Fatal(err)
		}
	}
	exec(b, "SELECT set_config('freshet.tenant', $1, false)", w.s.tenant)
	var set int64
	rate := func(b *testing.B) { b.ReportMetric(float64(chunks*b.N)/b.Elapsed().Seconds(), "vectors/s") }
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			exec(b, "SELECT nearest_drop($1)", set)
			b.StartTimer()
			var err error
			if set, err = w.load(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		rate(b)
	})
	b.Run("copy", func(b *testing.B) {
		exec(b, "CREATE TABLE copied_nearest (LIKE nearest INCLUDING ALL)")
		defer exec(b, "DROP TABLE copied_nearest")
		for b.Loop() {
			exec(b, "TRUNCATE copied_nearest")
			copyNearest(b, owner, w)
		}
		rate(b)
	})
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			exec(b, fmt.Sprintf("DROP INDEX IF EXISTS nearest_%d_hnsw", set))
			exec(b, "UPDATE nearest_sets SET indexed = false WHERE id = $1", set)
			b.StartTimer()
			if err := w.s.IndexCandidates(b.Context(), "wide", 1); err != nil {
				b.Fatal(err)
			}
		}
		rate(b)
	})
	benchQueries(b, w)
}

// copyNearest copies the rows of a set in one go.
func copyNearest(b *testing.B, conn *pgx.Conn, w *wide) {
	b.Helper()
	if err := pgvectorpgx.RegisterTypes(b.Context(), conn); err != nil {
		b.Fatal(err)
	}
	at, chunk := 0, 0
	var g *segment.Segment
	_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"copied_nearest"}, []string{"tenant", "set", "segment", "chunk", "vector"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if g != nil && chunk == g.Chunks() {
				at, chunk, g = at+1, 0, nil
			}
			if at == len(w.view.Segments) {
				return nil, nil
			}
			if g == nil {
				var err error
				if g, err = segment.Open(opened(b, w.s, w.view.Segments[at].ID)); err != nil {
					return nil, err
				}
			}
			row, scale := g.Vector(chunk)
			floats := make([]float32, len(row))
			for i, x := range row {
				floats[i] = float32(int8(x)) * scale
			}
			chunk++
			return []any{w.s.tenant, int64(1), int64(w.view.Segments[at].ID), int64(chunk), pgvector.NewHalfVector(floats)}, nil
		}))
	if err != nil {
		b.Fatal(err)
	}
}

func benchQueries(b *testing.B, w *wide) {
	b.Helper()
	one := []string{"d07/**"} // in a hundred
	most := []string{"!d0?/**"}
	for _, c := range []struct {
		name     string
		mode     search.Mode
		paths    []string
		proposer search.CandidateIndex
	}{
		{"hybrid/candidates", search.ModeHybrid, nil, w.s},
		{"hybrid/all", search.ModeHybrid, nil, nil},
		{"hybrid/of90%/candidates", search.ModeHybrid, most, w.s},
		{"hybrid/of1%/candidates", search.ModeHybrid, one, w.s},
		{"hybrid/of1%/all", search.ModeHybrid, one, nil},
		{"semantic/candidates", search.ModeSemantic, nil, w.s},
		{"semantic/all", search.ModeSemantic, nil, nil},
		{"text", search.ModeText, nil, nil},
	} {
		b.Run("query/"+c.name, func(b *testing.B) {
			embedder := &variableEmbedder{}
			engine := search.New(w.s, embedder, search.Options{Candidates: c.proposer, CandidatesFrom: 1})
			defer func() { _ = engine.Close() }()
			percentiles(b, func() {
				var text string
				text, embedder.vector = w.query()
				r, err := engine.Search(b.Context(), w.view, search.Query{Text: text, Mode: c.mode, Paths: c.paths})
				if err != nil || len(r.Hits) == 0 {
					b.Fatal(len(r.Hits), r.Warnings, err)
				}
			})
		})
	}
	b.Run("query/server", func(b *testing.B) {
		percentiles(b, func() {
			_, vector := w.query()
			if near, ok, err := w.s.Candidates(b.Context(), w.view, vector, 1000); err != nil || !ok || len(near) == 0 {
				b.Fatal(len(near), ok, err)
			}
		})
	})
}

// variableEmbedder gives a query whatever vector is set.
type variableEmbedder struct{ vector []float32 }

// Recipe is that of nobody.
func (v *variableEmbedder) Recipe() store.EmbeddingRecipe {
	return store.EmbeddingRecipe{Dimension: benchDim}
}

// EmbedQuery returns it.
func (v *variableEmbedder) EmbedQuery(context.Context, string) ([]float32, error) {
	return v.vector, nil
}

// percentiles reports what half, and all but the slowest twentieth, of the calls stay under.
func percentiles(b *testing.B, call func()) {
	b.Helper()
	for range 3 {
		call() // opens segments and connections
	}
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		call()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	for _, p := range []int{50, 95} {
		b.ReportMetric(float64(took[len(took)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}
