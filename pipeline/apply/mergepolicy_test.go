package apply

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/freshet/freshet/store"
)

// index is a list of segments to which the merge policy is applied as Compact does.
type index struct {
	refs    []store.SegmentRef
	last    store.SegmentID
	written int64 // bytes put, first and again
}

func (x *index) put(files int, bytes int64) {
	x.last++
	x.refs = append(x.refs, store.SegmentRef{ID: x.last, Files: files, Bytes: bytes})
	x.written += bytes
}

// compact merges until the policy names nothing more, and reports how often it merged.
func (x *index) compact(t *testing.T) (merges int) {
	t.Helper()
	for {
		kept, merged := compaction(x.refs, func(store.SegmentRef) bool { return false })
		if len(merged) == 0 {
			return merges
		}
		if merges++; merges > len(x.refs)+100 {
			t.Fatal("merging does not end")
		}
		x.refs = kept
		files, bytes := 0, int64(0)
		for _, ref := range merged {
			files, bytes = files+alive(ref), bytes+liveBytes(ref)
		}
		if bytes > 2*maxMerged || files > 2*maxFiles {
			t.Fatalf("%d files of %d bytes are merged at once", files, bytes)
		}
		x.put(files, bytes)
	}
}

// An index that did not change is not written again, whatever its segments are: those of a
// first index of any size are left alone from the start.
func TestUnchangedIndexIsNotMerged(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, segments := range []int{1, 7, 8, 9, 28, 200} {
		for name, size := range map[string]func() (int, int64){
			"large files": func() (int, int64) { return 1500, 40 << 20 },
			"small files": func() (int, int64) { return segmentFiles, 5 << 20 },
			"any":         func() (int, int64) { return 1 + random.IntN(segmentFiles), 1 + random.Int64N(60<<20) },
		} {
			var x index
			for range segments {
				x.put(size())
			}
			first := x.compact(t)
			if name != "any" && first != 0 {
				t.Errorf("%d segments of %s: %d merges of a first index", segments, name, first)
			}
			written := x.written
			for range 10 {
				x.compact(t)
			}
			if x.written != written {
				t.Errorf("%d segments of %s: %d bytes were written again without a change", segments, name, x.written-written)
			}
		}
	}
}

// What edits add is written again once for each tier at most, and leaves few segments.
func TestWriteAmplificationIsLogarithmic(t *testing.T) {
	t.Parallel()
	for _, edits := range []int{100, 1000, 4000} {
		t.Run(fmt.Sprint(edits), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(3, 4))
			var x index
			for range 28 {
				x.put(1500, 40<<20)
			}
			base, added := x.written, int64(0)
			for range edits {
				bytes := 1<<10 + random.Int64N(256<<10)
				added += bytes
				x.put(1, bytes)
				x.compact(t)
			}
			tiers := math.Ceil(math.Log(float64(maxMerged)/lowestTier)/math.Log(fanIn)) + 1
			if again := x.written - base - added; float64(again) > tiers*float64(added) {
				t.Errorf("%d bytes were written again for %d, more than %g times", again, added, tiers)
			}
			if most := 28 + int(added/(maxMerged/8)) + int(tiers)*fanIn; len(x.refs) > most {
				t.Errorf("%d segments are left of %d edits, want at most %d", len(x.refs), edits, most)
			}
		})
	}
}

// A segment of which much is dead is written once without it, and then left alone.
func TestDeadFilesAreMergedAway(t *testing.T) {
	t.Parallel()
	var x index
	x.put(1000, 40<<20)
	x.put(1000, 40<<20)
	dead := func(n int) (all []uint32) {
		for i := range n {
			all = append(all, uint32(i))
		}
		return all
	}
	x.refs[0].Dead = dead(300)
	if n := x.compact(t); n != 0 {
		t.Errorf("%d merges with 30%% dead", n)
	}
	x.refs[0].Dead = dead(301)
	if n := x.compact(t); n != 1 {
		t.Errorf("%d merges with more dead, want 1", n)
	}
}
