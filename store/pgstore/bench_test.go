package pgstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/storetest"
	"github.com/freshet/freshet/sync/merkle"
)

// The size of what the benchmarks load: files of about 4 KiB, with chunks and vectors.
const (
	benchFiles  = 4000
	benchChunks = 6 // of a file
	benchDim    = 256
	benchBatch  = 200 // files of a batch of the pipeline
)

// benchTree is a synthetic tree with everything that the pipeline makes of it.
type benchTree struct {
	recipe   store.Recipe
	files    []store.FileEntry
	contents []store.Content
	syntaxes []store.SyntaxRecord
	vectors  [][]store.VectorRecord // of each file
}

func newBenchTree(seed uint64) benchTree {
	random := rand.New(rand.NewPCG(seed, 1))
	t := benchTree{recipe: store.Recipe{Schema: 1, Chunker: "c", Embedding: store.EmbeddingRecipe{Dimension: benchDim}}}
	for i := range benchFiles {
		var body []byte
		for len(body) < 4<<10 {
			body = fmt.Appendf(body, "func name%d(x int) error { return call%d(x) }\n", random.IntN(500), random.IntN(500))
		}
		c := store.Content{Hash: sha256.Sum256(body), Data: body}
		t.contents = append(t.contents, c)
		t.files = append(t.files, store.FileEntry{Path: fmt.Sprintf("d%02d/f%05d.go", i%100, i), Content: c.Hash, Size: int64(len(body)), Language: "Go"})
		var x store.Syntax
		var vectors []store.VectorRecord
		for n := range uint32(benchChunks) {
			text := merkle.Hash(sha256.Sum256(binary.BigEndian.AppendUint32(c.Hash[:], n)))
			x.Chunks = append(x.Chunks, store.Chunk{Start: n * 600, End: n*600 + 600, StartLine: n, EndLine: n + 9, Breadcrumb: "func name", TextHash: text})
			x.Definitions = append(x.Definitions, store.Definition{Name: fmt.Sprint("name", n), Kind: "function", Signature: "func name(x int) error", Parent: -1})
			v := store.VectorRecord{TextHash: text, Vector: store.Vector{Scale: 0.01, Data: make([]int8, benchDim)}}
			for d := range v.Vector.Data {
				v.Vector.Data[d] = int8(random.IntN(255) - 127)
			}
			vectors = append(vectors, v)
		}
		t.syntaxes = append(t.syntaxes, store.SyntaxRecord{Key: t.key(i), Syntax: x})
		t.vectors = append(t.vectors, vectors)
	}
	return t
}

func (t benchTree) key(i int) store.SyntaxKey {
	return store.SyntaxKey{Content: t.files[i].Content, Version: t.recipe.SyntaxVersion("Go")}
}

// batches calls put for the files from and up to the end of each batch.
func batches(b *testing.B, put func(from, to int) error) {
	b.Helper()
	for from := 0; from < benchFiles; from += benchBatch {
		if err := put(from, min(from+benchBatch, benchFiles)); err != nil {
			b.Fatal(err)
		}
	}
}

// benchLoad measures a way to put the whole tree into a new tenant, in things a second.
func benchLoad(b *testing.B, things int, unit string, load func(ctx context.Context, s *Store, t benchTree)) {
	t := newBenchTree(7)
	for b.Loop() {
		b.StopTimer()
		s := openTenant(b, Options{})
		if _, err := s.Register(b.Context(), store.Codebase{ID: "a", Root: "/"}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		load(b.Context(), s, t)
	}
	b.ReportMetric(float64(things)*float64(b.N)/b.Elapsed().Seconds(), unit+"/s")
}

func putContents(b *testing.B, s *Store, t benchTree) {
	b.Helper()
	batches(b, func(from, to int) error { return s.PutContents(b.Context(), t.contents[from:to]) })
}

func BenchmarkPutContents(b *testing.B) {
	benchLoad(b, benchFiles, "files", func(_ context.Context, s *Store, t benchTree) { putContents(b, s, t) })
}

func BenchmarkPutSyntax(b *testing.B) {
	benchLoad(b, benchFiles, "files", func(ctx context.Context, s *Store, t benchTree) {
		batches(b, func(from, to int) error { return s.PutSyntax(ctx, t.syntaxes[from:to]) })
	})
}

func BenchmarkPutVectors(b *testing.B) {
	benchLoad(b, benchFiles*benchChunks, "vectors", func(ctx context.Context, s *Store, t benchTree) {
		batches(b, func(from, to int) error {
			var all []store.VectorRecord
			for _, v := range t.vectors[from:to] {
				all = append(all, v...)
			}
			return s.PutVectors(ctx, t.recipe.Embedding.Key(), all, nil)
		})
	})
}

// BenchmarkCopyVectors is the limit of BenchmarkPutVectors: COPY of the same rows in one go
// into a table that only they are in, without conflicts, policies and batches.
func BenchmarkCopyVectors(b *testing.B) {
	t := newBenchTree(7)
	conn, err := pgx.Connect(b.Context(), database(b))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(b.Context(), "CREATE TABLE copied (LIKE vectors INCLUDING ALL)"); err != nil {
		b.Fatal(err)
	}
	defer func() { _, _ = conn.Exec(context.Background(), "DROP TABLE copied") }()
	for b.Loop() {
		if _, err := conn.Exec(b.Context(), "TRUNCATE copied"); err != nil {
			b.Fatal(err)
		}
		_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"copied"}, []string{"tenant", "embedding", "text", "body"},
			pgx.CopyFromSlice(benchFiles*benchChunks, func(i int) ([]any, error) {
				r := t.vectors[i/benchChunks][i%benchChunks]
				return []any{"default", int64(1), r.TextHash[:], encodeVector(r.TextHash, r.Vector)}, nil
			}))
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(benchFiles*benchChunks*b.N)/b.Elapsed().Seconds(), "vectors/s")
}

// openFirst opens the first snapshot of a tree whose contents are stored.
func openFirst(ctx context.Context, s *Store, t benchTree) error {
	o := store.Opening{Codebase: "a", Number: 1, Recipe: t.recipe, Rebuild: true, Root: t.files[0].Content, Upserts: t.files}
	for _, f := range t.files {
		o.Stats = append(o.Stats, store.StatEntry{Path: f.Path, Content: f.Content, Language: f.Language})
	}
	_, err := s.Open(ctx, o)
	return err
}

// BenchmarkOpenFirst opens a first snapshot, its contents already there.
func BenchmarkOpenFirst(b *testing.B) {
	benchLoad(b, benchFiles, "files", func(ctx context.Context, s *Store, t benchTree) {
		b.StopTimer()
		putContents(b, s, t)
		b.StartTimer()
		if err := openFirst(ctx, s, t); err != nil {
			b.Fatal(err)
		}
	})
}

// benchStore is a store with the tree in it, sealed.
func benchStore(b *testing.B) (*Store, benchTree) {
	b.Helper()
	s, t := openTenant(b, Options{}), newBenchTree(7)
	if _, err := s.Register(b.Context(), store.Codebase{ID: "a", Root: "/"}); err != nil {
		b.Fatal(err)
	}
	putContents(b, s, t)
	if err := openFirst(b.Context(), s, t); err != nil {
		b.Fatal(err)
	}
	if err := storetest.Finish(b.Context(), s, "a", 1); err != nil {
		b.Fatal(err)
	}
	if err := s.Seal(b.Context(), store.Seal{Codebase: "a", Number: 1, Level: store.LevelFull}); err != nil {
		b.Fatal(err)
	}
	return s, t
}

// BenchmarkOneFileEdit is what an edit of one file asks of the store: its content, the
// snapshot, its work, a syntax, vectors, a segment and the seal.
func BenchmarkOneFileEdit(b *testing.B) {
	s, t := benchStore(b)
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	number := uint64(1)
	for b.Loop() {
		number++
		i := int(number) % benchFiles
		body := fmt.Appendf(nil, "edit %d", number)
		f := t.files[i]
		f.Content = sha256.Sum256(body)
		_, err := s.Open(b.Context(), store.Opening{
			Codebase: "a", Number: number, Parent: number - 1, Recipe: t.recipe, Root: f.Content, Upserts: []store.FileEntry{f},
			Contents: []store.Content{{Hash: f.Content, Data: body}}, Stats: []store.StatEntry{{Path: f.Path, Content: f.Content}},
			Events: []store.OutboxEvent{{Codebase: "a", Snapshot: number}},
		})
		must(err)
		_, err = s.Pending(b.Context(), "a", number, t.recipe)
		must(err)
		k := store.SyntaxKey{Content: f.Content, Version: t.recipe.SyntaxVersion("Go")}
		must(s.PutSyntax(b.Context(), []store.SyntaxRecord{{Key: k, Syntax: t.syntaxes[i].Syntax}}))
		must(s.PutVectors(b.Context(), t.recipe.Embedding.Key(), t.vectors[i], []store.SyntaxKey{k}))
		segment, err := s.PutSegment(b.Context(), "a", 1, benchChunks, body)
		must(err)
		must(s.Seal(b.Context(), store.Seal{Codebase: "a", Number: number, Level: store.LevelFull, Segments: []store.SegmentID{segment}}))
	}
}

func BenchmarkManifest(b *testing.B) {
	s, _ := benchStore(b)
	for b.Loop() {
		for _, err := range s.Manifest(b.Context(), "a", 1) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(benchFiles*b.N)/b.Elapsed().Seconds(), "files/s")
}

// BenchmarkHasContents looks up a whole tree of which everything is known, as the first
// scan of another clone does.
func BenchmarkHasContents(b *testing.B) {
	s, t := benchStore(b)
	hashes := make([]merkle.Hash, len(t.files))
	for i, f := range t.files {
		hashes[i] = f.Content
	}
	for b.Loop() {
		if has, err := s.HasContents(b.Context(), hashes); err != nil || len(has) != len(hashes) {
			b.Fatal(len(has), err)
		}
	}
	b.ReportMetric(float64(benchFiles*b.N)/b.Elapsed().Seconds(), "files/s")
}

func BenchmarkContent(b *testing.B) {
	s, t := benchStore(b)
	i := 0
	for b.Loop() {
		if _, err := s.Content(b.Context(), t.files[i%benchFiles].Content); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
