package pgstore

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/segment"
	"github.com/freshet/freshet/sync/merkle"
)

// nearTree seals a snapshot of segments of files with random vectors around a few centres,
// and returns its view.
func nearTree(t testing.TB, s *Store, segments, files, dimension int) store.View {
	t.Helper()
	random := rand.New(rand.NewPCG(3, uint64(files)))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Register(t.Context(), store.Codebase{ID: "near", Root: "/near"})
	must(err)
	recipe := store.Recipe{Schema: segment.Version, Embedding: store.EmbeddingRecipe{Dimension: dimension}}
	o := store.Opening{Codebase: "near", Number: 1, Recipe: recipe, Rebuild: true}
	_, err = s.Open(t.Context(), o)
	must(err)
	centres := make([][]float32, 64)
	for i := range centres {
		centres[i] = around(random, make([]float32, dimension), 1)
	}
	var ids []store.SegmentID
	for n := range segments {
		builder := segment.NewBuilder(segment.Options{Dimension: dimension})
		for i := range files {
			body := fmt.Appendf(nil, "text %d of %d", i, n)
			h := merkle.Hash(sha256.Sum256(body))
			x := store.Syntax{Cut: store.CutLines, Chunks: []store.Chunk{{End: uint32(len(body)), StartLine: 1, EndLine: 1, TextHash: h}}}
			must(builder.Add(segment.File{
				Entry:   store.FileEntry{Path: fmt.Sprintf("d%d/f%d.txt", n, i), Content: h, Size: int64(len(body))},
				Content: body,
				Syntax:  x,
				Vectors: map[merkle.Hash]store.Vector{h: store.Quantize(around(random, centres[random.IntN(len(centres))], 0.7))},
			}))
		}
		data, err := builder.Finish()
		must(err)
		id, err := s.PutSegment(t.Context(), "near", files, files, data)
		must(err)
		ids = append(ids, id)
	}
	must(s.Seal(t.Context(), store.Seal{Codebase: "near", Number: 1, Level: store.LevelFull, Segments: ids}))
	view, err := s.View(t.Context(), "near", 1)
	must(err)
	return view
}

// around is a unit vector near another.
func around(random *rand.Rand, centre []float32, spread float64) []float32 {
	out, squares := make([]float32, len(centre)), 0.0
	for i, x := range centre {
		y := float64(x) + random.NormFloat64()*spread/math.Sqrt(float64(len(centre)))
		out[i], squares = float32(y), squares+y*y
	}
	for i := range out {
		out[i] /= float32(math.Sqrt(squares))
	}
	return out
}

// likeOne is a query near some chunk of a view, as those of people are: what lies near
// nothing has no neighbours to speak of, and graphs miss some of them.
func likeOne(t testing.TB, s *Store, view store.View, random *rand.Rand) []float32 {
	t.Helper()
	g, err := segment.Open(opened(t, s, view.Segments[random.IntN(len(view.Segments))].ID))
	if err != nil {
		t.Fatal(err)
	}
	row, scale := g.Vector(random.IntN(g.Chunks()))
	floats := make([]float32, len(row))
	for i, x := range row {
		floats[i] = float32(int8(x)) * scale
	}
	return around(random, floats, 0.7)
}

// exactly ranks every chunk of a view.
func exactly(t testing.TB, s *Store, view store.View, query []float32) []store.ChunkRef {
	t.Helper()
	type scored struct {
		ref   store.ChunkRef
		score float64
	}
	var all []scored
	for _, ref := range view.Segments {
		g, err := segment.Open(opened(t, s, ref.ID))
		if err != nil {
			t.Fatal(err)
		}
		for chunk := range g.Chunks() {
			row, scale := g.Vector(chunk)
			sum := 0.0
			for i, x := range row {
				sum += float64(int8(x)) * float64(scale) * float64(query[i])
			}
			all = append(all, scored{store.ChunkRef{Segment: ref.ID, Chunk: uint32(chunk)}, sum})
		}
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	out := make([]store.ChunkRef, len(all))
	for i := range all {
		out[i] = all[i].ref
	}
	return out
}

// TestNearest compares what the server proposes with every chunk, in a view of all the
// segments and in one of few of them, and follows a set to its end.
func TestNearest(t *testing.T) {
	t.Parallel()
	s := openTenant(t, Options{CandidatesFrom: 100})
	view := nearTree(t, s, 20, 150, 64)
	random := rand.New(rand.NewPCG(5, 5))
	if _, ok, err := s.Candidates(t.Context(), view, make([]float32, 64), 10); ok || err != nil {
		t.Fatalf("candidates before there are any: %v %v", ok, err)
	}
	for range 2 {
		if err := s.IndexCandidates(t.Context(), "near", 1); err != nil {
			t.Fatal(err)
		}
	}
	few := view
	few.Segments = view.Segments[3:4]
	for name, view := range map[string]store.View{"all": view, "few": few} {
		found, wanted := 0, 0
		for range 20 {
			query := likeOne(t, s, view, random)
			near, ok, err := s.Candidates(t.Context(), view, query, 100)
			if err != nil || !ok || len(near) != 100 {
				t.Fatalf("%s: %d candidates, %v, %v", name, len(near), ok, err)
			}
			for _, ref := range exactly(t, s, view, query)[:10] {
				wanted++
				if slices.Contains(near, ref) {
					found++
				}
			}
		}
		t.Logf("%s: %d of %d", name, found, wanted)
		if float64(found) < 0.98*float64(wanted) {
			t.Errorf("%s: %d of the %d nearest were proposed", name, found, wanted)
		}
	}
	if err := s.Clear(t.Context(), "near"); err != nil {
		t.Fatal(err)
	}
	super := rawConn(t, database(t), "")
	const sets = "SELECT count(*) FROM nearest_sets WHERE tenant = $1"
	for tries := 0; tries < 20 && count(t, super, sets, s.tenant) > 0; tries++ { // others load theirs
		if _, err := s.Collect(t.Context(), store.Retention{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"nearest", "nearest_segments", "nearest_sets"} {
		if n := count(t, super, "SELECT count(*) FROM "+table+" WHERE tenant = $1", s.tenant); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}
