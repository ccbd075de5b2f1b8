package pipeline_test

import (
	"fmt"
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
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
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
