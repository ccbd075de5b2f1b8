package segment

import (
	"encoding/binary"
	"slices"

	"github.com/freshet/freshet/store"
)

func cutNumber(cut store.Cut) int { return max(0, slices.Index(cuts[:], cut)) }

func appendNumbers(dst []byte, values ...uint32) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}
