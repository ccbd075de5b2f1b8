package sqlitestore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

const testCodebase = store.CodebaseID("a")

func testRecipe() store.Recipe {
	return store.Recipe{Schema: 1, Chunker: "c", Embedding: store.EmbeddingRecipe{Model: "m", Dimension: 4}}
}

// testContent is the content that snapshot n gives to its file.
func testContent(n uint64) store.Content {
	random := rand.New(rand.NewPCG(n, 1))
	data := fmt.Appendf(nil, "content of snapshot %d\n", n)
	for range random.IntN(3000) {
		data = append(data, byte(random.IntN(256)))
	}
	return store.Content{Hash: sha256.Sum256(data), Data: data}
}

func testPath(n uint64) string { return fmt.Sprintf("file%02d", n%17) }

func testKey(n uint64) store.SyntaxKey {
	return store.SyntaxKey{Content: testContent(n).Hash, Version: testRecipe().SyntaxVersion("")}
}

func testSyntax(n uint64) store.Syntax {
	c := testContent(n)
	x := store.Syntax{Cut: store.CutLines, Definitions: []store.Definition{{Name: fmt.Sprint("name", n), Kind: "function", Parent: -1}}}
	for i := range uint32(3) {
		text := sha256.Sum256(fmt.Append(nil, n, i))
		x.Chunks = append(x.Chunks, store.Chunk{Start: i, End: i + 1, StartLine: 1, EndLine: 1, TextHash: text, Breadcrumb: c.Hash.Short()})
	}
	return x
}

func testVectors(n uint64) []store.VectorRecord {
	var all []store.VectorRecord
	for i, chunk := range testSyntax(n).Chunks {
		all = append(all, store.VectorRecord{TextHash: chunk.TextHash, Vector: store.Vector{Scale: float32(n), Data: []int8{int8(i), 1, 2, 3}}})
	}
	return all
}

func testSegment(n uint64) []byte { return fmt.Appendf(nil, "segment %d %x", n, testContent(n).Data) }

// advance makes snapshot n with one changed file and all that belongs to it, and tells of
// each step that was acknowledged.
func advance(ctx context.Context, s *Store, n uint64, acknowledged func(step string)) error {
	c := testContent(n)
	_, err := s.Open(ctx, store.Opening{
		Codebase: testCodebase, Number: n, Parent: n - 1, Recipe: testRecipe(), Root: c.Hash, Contents: []store.Content{c}, At: time.Unix(int64(n), 0),
		Upserts: []store.FileEntry{{Path: testPath(n), Content: c.Hash, Size: int64(len(c.Data))}},
		Stats:   []store.StatEntry{{Path: testPath(n), XX: n}},
		Events:  []store.OutboxEvent{{Codebase: testCodebase, Snapshot: n, Data: []byte("opened")}},
	})
	if err != nil {
		return err
	}
	acknowledged("open")
	if err := s.PutSyntax(ctx, []store.SyntaxRecord{{Key: testKey(n), Syntax: testSyntax(n)}}); err != nil {
		return err
	}
	acknowledged("syntax")
	if err := s.PutVectors(ctx, testRecipe().Embedding.Key(), testVectors(n), []store.SyntaxKey{testKey(n)}); err != nil {
		return err
	}
	acknowledged("vectors")
	sid, err := s.PutSegment(ctx, testCodebase, 5, 5, testSegment(n))
	if err != nil {
		return err
	}
	acknowledged("segment")
	if err := finishAbandoned(ctx, s, n); err != nil {
		return err
	}
	seal := store.Seal{
		Codebase: testCodebase, Number: n, Level: store.LevelFull, Segments: []store.SegmentID{sid}, At: time.Unix(int64(n), 0),
		Dead: map[store.SegmentID][]uint32{sid: {uint32(n % 5)}},
	}
	if err := s.Seal(ctx, seal); err != nil {
		return err
	}
	acknowledged("seal")
	return nil
}

// finishAbandoned does the work that is left of snapshots before n whose writer was killed.
func finishAbandoned(ctx context.Context, s *Store, n uint64) error {
	pending, err := s.Pending(ctx, testCodebase, n, testRecipe())
	if err != nil {
		return err
	}
	for _, p := range pending {
		for m := n; m > 0; m-- {
			if testContent(m).Hash != p.Content {
				continue
			}
			err := s.PutSyntax(ctx, []store.SyntaxRecord{{Key: testKey(m), Syntax: testSyntax(m)}})
			if err == nil {
				err = s.PutVectors(ctx, testRecipe().Embedding.Key(), testVectors(m), []store.SyntaxKey{testKey(m)})
			}
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// verifySnapshot reads all that advance wrote for a sealed snapshot.
func verifySnapshot(ctx context.Context, s *Store, n uint64) error {
	view, err := s.View(ctx, testCodebase, n)
	if err != nil {
		return err
	}
	if view.Snapshot.Root != testContent(n).Hash || len(view.Segments) != 1 || len(view.Segments[0].Dead) != 1 || view.Segments[0].Dead[0] != uint32(n%5) {
		return fmt.Errorf("view %d is %+v", n, view)
	}
	segment, err := s.OpenSegment(ctx, view.Segments[0].ID)
	if err != nil {
		return err
	}
	if string(segment.Bytes()) != string(testSegment(n)) {
		return fmt.Errorf("segment of %d has other bytes", n)
	}
	if err := segment.Close(); err != nil {
		return err
	}
	f, err := s.File(ctx, testCodebase, n, testPath(n))
	if err != nil || f.Content != testContent(n).Hash {
		return fmt.Errorf("file of %d is %+v (%w)", n, f, err)
	}
	return verifyContent(ctx, s, n)
}

func verifyContent(ctx context.Context, s *Store, n uint64) error {
	data, err := s.Content(ctx, testContent(n).Hash)
	if err != nil || string(data) != string(testContent(n).Data) {
		return fmt.Errorf("content of %d: %w", n, err)
	}
	embedding := testRecipe().Embedding.Key()
	done, err := s.HasEmbedded(ctx, embedding, []store.SyntaxKey{testKey(n)})
	if err != nil || !done[testKey(n)] {
		return fmt.Errorf("file of %d is not embedded (%w)", n, err)
	}
	for _, r := range testVectors(n) {
		found, err := s.Vectors(ctx, embedding, []merkle.Hash{r.TextHash})
		if err != nil || found[r.TextHash].Scale != r.Vector.Scale {
			return fmt.Errorf("vector of %d is %v (%w)", n, found, err)
		}
	}
	return nil
}
