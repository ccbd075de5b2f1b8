package storetest

import (
	"fmt"
	"testing"

	"github.com/freshet/freshet/store"
)

// testRowsWrittenPerEdit edits d files in trees of two sizes and counts the rows written:
// their number follows d, and the size of the tree does not matter.
func testRowsWrittenPerEdit(t *testing.T, e *env) {
	counter, ok := e.s.(RowCounter)
	if !ok {
		t.Skip("the store does not count rows")
	}
	edits := []int{1, 10, 100}
	counts := map[int][]int64{}
	for _, size := range []int{1000, 18000} {
		id := e.register(store.CodebaseID(fmt.Sprint("tree", size)))
		o := e.opening(id, recipe("m1"), edit{})
		o.Contents = []store.Content{content("text")}
		for i := range size {
			entry := file(fmt.Sprintf("dir%03d/file%05d.go", i%100, i), "text")
			o.Upserts = append(o.Upserts, entry)
			o.Stats = append(o.Stats, store.StatEntry{Path: entry.Path, Content: entry.Content})
		}
		_, err := e.s.Open(e.ctx, o)
		e.ok(err)
		segment := e.segment(id, size, "segment")
		e.seal(id, 1, segment)
		for _, d := range edits {
			before := counter.RowsWritten()
			next := e.opening(id, recipe("m1"), edit{})
			next.Upserts, next.Stats = o.Upserts[:d], o.Stats[:d]
			n, err := e.s.Open(e.ctx, next)
			e.ok(err)
			e.ok(e.s.Seal(e.ctx, store.Seal{
				Codebase: id, Number: n.Number, Level: store.LevelFull,
				Segments: []store.SegmentID{segment}, Dead: map[store.SegmentID][]uint32{segment: {uint32(d)}},
			}))
			counts[size] = append(counts[size], counter.RowsWritten()-before)
		}
	}
	t.Logf("rows written for edits of %v files: %v", edits, counts)
	e.same("rows at 18,000 files and at 1,000", counts[18000], counts[1000])
	for i, d := range edits {
		if got := counts[1000][i]; got > int64(3*d+12) {
			t.Errorf("an edit of %d files wrote %d rows", d, got)
		}
	}
}
