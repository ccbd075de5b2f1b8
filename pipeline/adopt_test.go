package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/freshet/freshet/pipeline/embedding/builtin"
)

// TestCloneTakesSegmentsOver: the first snapshot of a clone takes the segments of the other
// over, whose files it lacks are dead in them, and differs in nothing from a clean build.
func TestCloneTakesSegmentsOver(t *testing.T) {
	t.Parallel()
	const files = 150
	path := func(i int) string { return fmt.Sprintf("pkg%d/file%03d.go", i%7, i) }
	source := func(i int, name string) string {
		return goFile(fmt.Sprintf("pkg%d", i%7), fmt.Sprintf("%s%d", name, i))
	}
	for _, test := range []struct {
		name    string
		differ  func(clone *rig)
		made    int // segments of the clone
		shared  bool
		missing int  // files of the other that are dead in what is taken over
		parks   bool // a file of the other is parked
	}{
		{"the same tree", func(*rig) {}, 1, true, 0, false},
		{"another branch", func(clone *rig) {
			for i := range 5 {
				clone.write(path(i), source(i, "Other"))
			}
			clone.remove(path(20))
			clone.rename(path(21), "moved.go")
			clone.write("new.go", goFile("new", "New"))
		}, 2, true, 7, false},
		{"a tree that shares little", func(clone *rig) {
			for i := range 100 {
				clone.write(path(i), source(i, "Other"))
			}
		}, 1, false, 0, false},
		{"a small part of it", func(clone *rig) {
			for i := range 100 {
				clone.remove(path(i))
			}
		}, 1, false, 0, false},
		{"a file that was parked", func(clone *rig) { clone.write("bad.go", goFile("bad", "poison")) }, 2, true, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var o rigOptions
			if test.parks {
				o.provider = &rejecting{Provider: builtin.New(), word: "poison"}
			}
			first := newRig(t, o)
			for i := range files {
				first.write(path(i), source(i, "F"))
			}
			if test.parks {
				first.write("bad.go", goFile("bad", "poison"))
			}
			first.catchUp()
			of, err := first.store.View(t.Context(), first.codebase.ID, 1)
			first.must(err)
			first.stop()
			clone := newRig(t, rigOptions{store: first.store, name: "clone"})
			for i := range files {
				clone.write(path(i), source(i, "F"))
			}
			test.differ(clone)
			snapshot := clone.catchUp()
			view, err := clone.store.View(t.Context(), clone.codebase.ID, snapshot.Number)
			clone.must(err)
			if len(of.Segments) != 1 || len(view.Segments) != test.made {
				t.Fatalf("segments %+v of %+v, want %d", view.Segments, of.Segments, test.made)
			}
			taken := view.Segments[0]
			if shared := taken.Files == of.Segments[0].Files && taken.Bytes == of.Segments[0].Bytes; shared != test.shared || len(taken.Dead) != test.missing {
				t.Errorf("its first segment is %+v of %+v, want it taken over: %t, with %d dead files", taken, of.Segments[0], test.shared, test.missing)
			}
			clone.wantClean()
			clone.write(path(99), source(99, "Later"))
			clone.catchUp()
			clone.wantClean()
		})
	}
}
