package pipeline_test

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestSegmentsAreMerged: a process that runs the stages keeps the house, alone and among
// others: what is largely dead is merged.
func TestSegmentsAreMerged(t *testing.T) {
	t.Parallel()
	for _, holder := range []string{"", "one of several"} {
		t.Run("holder "+holder, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{holder: holder, compact: 20 * time.Millisecond})
			for i := range 10 {
				r.write(fmt.Sprintf("f%d.go", i), fmt.Sprintf("package p\n\nfunc F%d() {}\n", i))
			}
			r.catchUp()
			for i := range 5 {
				r.remove(fmt.Sprintf("f%d.go", i))
			}
			current := r.catchUp()
			for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
				view, err := r.store.View(t.Context(), r.codebase.ID, current.Number)
				r.must(err)
				if len(view.Segments) == 1 && view.Segments[0].Files == 5 && len(view.Segments[0].Dead) == 0 {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("segments %+v, want one of five files", view.Segments)
				}
			}
		})
	}
}

// An index that did not change is never written again, and what a run of edits writes again
// is bounded by the logarithm of its size.
func TestMergingConverges(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{compact: time.Hour})
	const files, edits = 40, 120
	for i := range files {
		r.write(fmt.Sprintf("f%d.go", i), goFile("p", fmt.Sprintf("F%d", i)))
	}
	compact := func() {
		t.Helper()
		_, err := r.pipeline.Sealer.Compact(t.Context(), r.codebase.ID)
		r.must(err)
	}
	r.catchUp()
	compact()
	before, _ := r.pipeline.Sealer.Written()
	for i := range edits {
		r.write(fmt.Sprintf("f%d.go", i%files), goFile("p", fmt.Sprintf("Edit%d", i)))
		r.catchUp()
		if i%7 == 0 {
			compact()
		}
	}
	compact()
	bytes, again := r.pipeline.Sealer.Written()
	added := bytes - before - again
	if most := int64(math.Ceil(math.Log2(files+edits))) * added; again > most {
		t.Errorf("%d bytes were written again for %d new ones, want at most %d", again, added, most)
	}
	for range 10 {
		r.catchUp()
		compact()
	}
	if now, _ := r.pipeline.Sealer.Written(); now != bytes {
		t.Errorf("%d bytes were written without a change", now-bytes)
	}
	view, err := r.store.View(t.Context(), r.codebase.ID, r.current().Number)
	r.must(err)
	if len(view.Segments) > 12 {
		t.Errorf("%d segments are left", len(view.Segments))
	}
	r.wantClean()
}
