package apply

import (
	"cmp"
	"slices"

	"github.com/freshet/freshet/store"
)

// The merge policy is tiered, as that of Lucene or of a size-tiered log-structured merge
// tree: a segment belongs to a tier by the logarithm of its live bytes, and a tier that has
// fanIn segments is merged into one of a higher tier. So a byte is written again at most
// once for each tier, that is, a logarithm of the size of the index in all, and an index
// whose tiers are not full is not written again at all. A segment of more than half of
// maxMerged is never merged for its size.
const (
	fanIn       = 4
	lowestTier  = 64 << 10 // live bytes of a segment below which all are alike
	maxMerged   = 32 << 20 // live bytes
	maxFiles    = segmentFiles
	maxDeadPart = 0.3 // of the files of a segment
)

// compaction picks the segments to merge: those of full tiers, and every one of which too
// much is dead. Settled ones are left alone.
func compaction(refs []store.SegmentRef, settled func(store.SegmentRef) bool) (kept, merged []store.SegmentRef) {
	var small []store.SegmentRef
	picked := map[store.SegmentID]bool{}
	for _, ref := range refs {
		switch {
		case settled(ref):
		case mostlyDead(ref):
			picked[ref.ID] = true
		case liveBytes(ref) <= maxMerged/2 && alive(ref) <= maxFiles/2:
			small = append(small, ref)
		}
	}
	for _, ref := range fullTiers(small) {
		picked[ref.ID] = true
	}
	for _, ref := range refs {
		if picked[ref.ID] {
			merged = append(merged, ref)
		} else {
			kept = append(kept, ref)
		}
	}
	return kept, merged
}

// fullTiers returns the segments of the lowest full tier, as many as one merged segment
// takes, with those of the tiers above that become full by it. It returns none when no tier
// is full.
func fullTiers(refs []store.SegmentRef) []store.SegmentRef {
	bySize := slices.Clone(refs)
	slices.SortStableFunc(bySize, func(a, b store.SegmentRef) int { return cmp.Compare(liveBytes(a), liveBytes(b)) })
	tiers := map[int][]store.SegmentRef{}
	highest := 0
	for _, ref := range bySize {
		t := tierOf(liveBytes(ref))
		tiers[t] = append(tiers[t], ref)
		highest = max(highest, t)
	}
	var group []store.SegmentRef
	var bytes int64
	files := 0
	for t := 0; t <= highest; t++ {
		if len(group) > 0 && tierOf(bytes) > t {
			continue
		}
		members := 0 // what is merged so far is one of them
		if len(group) > 0 {
			members = 1
		}
		var joining []store.SegmentRef
		more, moreFiles := int64(0), 0
		for _, ref := range tiers[t] {
			if bytes+more+liveBytes(ref) > maxMerged || files+moreFiles+alive(ref) > maxFiles {
				break
			}
			joining = append(joining, ref)
			more, moreFiles = more+liveBytes(ref), moreFiles+alive(ref)
		}
		if members+len(joining) >= fanIn {
			group, bytes, files = append(group, joining...), bytes+more, files+moreFiles
		} else if len(group) > 0 {
			break
		}
	}
	return group
}

// tierOf is the logarithm of a size to the base fanIn, from lowestTier on.
func tierOf(bytes int64) int {
	t := 0
	for n := bytes / lowestTier; n > 0; n /= fanIn {
		t++
	}
	return t
}

// liveBytes estimates what a segment takes without its dead files.
func liveBytes(ref store.SegmentRef) int64 {
	if ref.Files == 0 {
		return 0
	}
	return ref.Bytes * int64(alive(ref)) / int64(ref.Files)
}

// sumLive is liveBytes of several.
func sumLive(refs []store.SegmentRef) (sum int64) {
	for _, ref := range refs {
		sum += liveBytes(ref)
	}
	return sum
}

// mostlyDead reports whether so much of a segment is dead that it is worth a merge.
func mostlyDead(ref store.SegmentRef) bool {
	return float64(len(ref.Dead)) > maxDeadPart*float64(ref.Files)
}
