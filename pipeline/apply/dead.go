package apply

import (
	"slices"

	"github.com/freshet/freshet/store"
)

func isDead(dead []uint32, ordinal uint32) bool {
	_, found := slices.BinarySearch(dead, ordinal)
	return found
}

func alive(ref store.SegmentRef) int { return ref.Files - len(ref.Dead) }
