package sqlitestore

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// corpus is a tree in memory. FRESHET_BENCH_TREE names a directory to take it from;
// without it, files of random words stand in.
type corpus struct {
	files []store.FileEntry
	data  []store.Content
	bytes int64
}

const benchFiles = 2000

func readCorpus(b *testing.B) corpus {
	b.Helper()
	var c corpus
	add := func(path string, data []byte) {
		content := store.Content{Hash: sha256.Sum256(data), Data: data}
		c.files = append(c.files, store.FileEntry{Path: path, Content: content.Hash, Size: int64(len(data)), Language: "Go"})
		c.data = append(c.data, content)
		c.bytes += int64(len(data))
	}
	root := os.Getenv("FRESHET_BENCH_TREE")
	if root == "" {
		random := rand.New(rand.NewPCG(1, 2))
		for i := range benchFiles {
			add(fmt.Sprintf("dir%02d/file%04d.go", i%50, i), words(random, 8000))
		}
		return c
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil && len(data) < 1<<20 {
			add(path[len(root)+1:], data)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func words(random *rand.Rand, size int) []byte {
	var data []byte
	for len(data) < size {
		data = fmt.Appendf(data, "\tname%d := call%d(argument)\n", random.IntN(5000), random.IntN(300))
	}
	return data
}

// cut makes a chunk of every 1,500 bytes with a definition and ten references.
func cut(c store.Content) store.Syntax {
	x := store.Syntax{Cut: store.CutGrammar}
	line := uint32(1)
	for start := 0; start < len(c.Data); start += 1500 {
		end := min(start+1500, len(c.Data))
		x.Chunks = append(x.Chunks, store.Chunk{
			Start: uint32(start), End: uint32(end), StartLine: line, EndLine: line + 40,
			Breadcrumb: fmt.Sprintf("type Server > method Close%d", start), TextHash: sha256.Sum256(c.Data[start:end]),
		})
		x.Definitions = append(x.Definitions, store.Definition{
			Name: fmt.Sprintf("Close%d", start), Kind: "method", Signature: fmt.Sprintf("func (s *Server) Close%d(ctx context.Context) error", start),
			Doc: "Close releases what the server holds.", Start: uint32(start), End: uint32(end), StartLine: line, EndLine: line + 40, Parent: -1,
		})
		for i := range 10 {
			x.References = append(x.References, store.Reference{Name: fmt.Sprintf("http.Call%d", (start+i)%97), Kind: store.RefCall, Line: line + uint32(i)})
		}
		line += 40
	}
	return x
}

func randomVectors(x store.Syntax) []store.VectorRecord {
	var all []store.VectorRecord
	for _, chunk := range x.Chunks {
		v := store.Vector{Scale: 0.01, Data: make([]int8, 256)}
		for i := range v.Data {
			v.Data[i] = int8(chunk.TextHash[i%32]) ^ int8(i)
		}
		all = append(all, store.VectorRecord{TextHash: chunk.TextHash, Vector: v})
	}
	return all
}

func benchRecipe() store.Recipe {
	return store.Recipe{Schema: 1, Chunker: "1", Grammars: map[string]string{"Go": "1"}, Embedding: store.EmbeddingRecipe{Model: "m", Dimension: 256}}
}

func benchKey(f store.FileEntry) store.SyntaxKey {
	return store.SyntaxKey{Content: f.Content, Version: benchRecipe().SyntaxVersion(f.Language)}
}

// load imports a corpus as the pipeline does: contents in batches of 16 MiB, one opening,
// syntaxes and vectors by 200 files.
func load(b *testing.B, s *Store, c corpus, syntaxes []store.Syntax, report func(stage string)) {
	b.Helper()
	ctx := b.Context()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	_, err := s.Register(ctx, store.Codebase{ID: "bench", Root: "/bench"})
	must(err)
	first, size := 0, 0
	for i, content := range c.data {
		if size += len(content.Data); size > 16<<20 || i == len(c.data)-1 {
			must(s.PutContents(ctx, c.data[first:i+1]))
			first, size = i+1, 0
		}
	}
	report("contents")
	o := store.Opening{Codebase: "bench", Number: 1, Recipe: benchRecipe(), Rebuild: true, Upserts: c.files}
	for _, f := range c.files {
		o.Stats = append(o.Stats, store.StatEntry{
			Path: f.Path, Content: f.Content, XX: 1 << 60, Language: f.Language,
			Stat: store.Stat{Size: f.Size, MtimeNs: 1 << 60, CtimeNs: 1 << 60, Device: 2049, Inode: 1 << 40, Mode: 0o100644},
		})
	}
	_, err = s.Open(ctx, o)
	must(err)
	report("open")
	for start := 0; start < len(c.files); start += 200 {
		var records []store.SyntaxRecord
		for i := start; i < min(start+200, len(c.files)); i++ {
			records = append(records, store.SyntaxRecord{Key: benchKey(c.files[i]), Syntax: syntaxes[i]})
		}
		must(s.PutSyntax(ctx, records))
	}
	report("syntax")
	embedding := benchRecipe().Embedding.Key()
	for start := 0; start < len(c.files); start += 200 {
		var vectors []store.VectorRecord
		var done []store.SyntaxKey
		for i := start; i < min(start+200, len(c.files)); i++ {
			vectors = append(vectors, randomVectors(syntaxes[i])...)
			done = append(done, benchKey(c.files[i]))
		}
		must(s.PutVectors(ctx, embedding, vectors, done))
	}
	report("vectors")
	_, err = s.Pending(ctx, "bench", 1, benchRecipe())
	must(err)
	report("pending")
	must(s.Seal(ctx, store.Seal{Codebase: "bench", Number: 1, Level: store.LevelFull}))
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func prepared(b *testing.B) (corpus, []store.Syntax) {
	c := readCorpus(b)
	syntaxes := make([]store.Syntax, len(c.data))
	for i := range c.data {
		syntaxes[i] = cut(c.data[i])
	}
	return c, syntaxes
}

func loaded(b *testing.B) (*Store, corpus, []store.Syntax) {
	c, syntaxes := prepared(b)
	s := openAt(b, b.TempDir(), time.Now)
	load(b, s, c, syntaxes, func(string) {})
	b.ResetTimer()
	return s, c, syntaxes
}

func BenchmarkFirstImport(b *testing.B) {
	c, syntaxes := prepared(b)
	for b.Loop() {
		s, err := Open(b.Context(), b.TempDir(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		last := cpuTime()
		first := last
		load(b, s, c, syntaxes, func(stage string) {
			now := cpuTime()
			b.ReportMetric((now - last).Seconds(), stage+"-cpu-s")
			last = now
		})
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((cpuTime() - first).Seconds(), "cpu-s")
		size, err := s.directorySize()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size)/float64(c.bytes), "directory/source")
		b.ReportMetric(float64(len(c.files)), "files")
	}
}

func BenchmarkOpenExisting(b *testing.B) {
	s, _, _ := loaded(b)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		s, err := Open(b.Context(), s.Dir(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOneFileEdit is every commit that an edit of one file costs the store.
func BenchmarkOneFileEdit(b *testing.B) {
	s, c, _ := loaded(b)
	ctx := b.Context()
	embedding := benchRecipe().Embedding.Key()
	number := uint64(1)
	for b.Loop() {
		number++
		data := fmt.Appendf(nil, "edit %d\n%s", number, c.data[0].Data)
		content := store.Content{Hash: sha256.Sum256(data), Data: data}
		f := c.files[0]
		f.Content, f.Size = content.Hash, int64(len(data))
		_, err := s.Open(ctx, store.Opening{
			Codebase: "bench", Number: number, Parent: number - 1, Recipe: benchRecipe(), Upserts: []store.FileEntry{f}, Contents: []store.Content{content},
			Root: content.Hash, Stats: []store.StatEntry{{Path: f.Path}}, Events: []store.OutboxEvent{{Codebase: "bench", Snapshot: number}},
		})
		x := cut(content)
		err = firstError(err, s.MarkPublished(ctx, []store.OutboxEvent{{Codebase: "bench", Snapshot: number}}, store.LogPosition{Incarnation: "i", Sequence: number}))
		err = firstError(err, s.PutSyntax(ctx, []store.SyntaxRecord{{Key: benchKey(f), Syntax: x}}))
		err = firstError(err, s.PutVectors(ctx, embedding, randomVectors(x), []store.SyntaxKey{benchKey(f)}))
		sid, e := s.PutSegment(ctx, "bench", 1, len(x.Chunks), data)
		err = firstError(err, e, s.Seal(ctx, store.Seal{Codebase: "bench", Number: number, Level: store.LevelFull, Segments: []store.SegmentID{sid}}))
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStats(b *testing.B) {
	s, c, _ := loaded(b)
	for b.Loop() {
		n := 0
		for _, err := range s.Stats(b.Context(), "bench") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != len(c.files) {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(len(c.files)), "entries")
}

func BenchmarkManifest(b *testing.B) {
	s, _, _ := loaded(b)
	for b.Loop() {
		for _, err := range s.Manifest(b.Context(), "bench", 1) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkContent(b *testing.B) {
	s, c, _ := loaded(b)
	i := 0
	for b.Loop() {
		if _, err := s.Content(b.Context(), c.data[i%len(c.data)].Hash); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkVectors(b *testing.B) {
	s, _, syntaxes := loaded(b)
	embedding := benchRecipe().Embedding.Key()
	i := 0
	for b.Loop() {
		var texts []merkle.Hash
		for _, chunk := range syntaxes[i%len(syntaxes)].Chunks {
			texts = append(texts, chunk.TextHash)
		}
		if _, err := s.Vectors(b.Context(), embedding, texts); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkCollect(b *testing.B) {
	s, _, _ := loaded(b)
	for b.Loop() {
		if _, err := s.Collect(b.Context(), store.Retention{Keep: 20}); err != nil {
			b.Fatal(err)
		}
	}
}
