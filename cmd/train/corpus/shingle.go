package corpus

import (
	"strings"

	"github.com/cespare/xxhash/v2"
)

// The comparison of files by runs of lines (Broder, "On the resemblance and containment of
// documents", 1997).
const (
	runLines   = 4    // lines of a run
	sample     = 4    // one run in so many is kept, by its hash
	minLine    = 4    // bytes of a line that counts, blanks at its ends taken off
	common     = 3    // a run in so many files says nothing: licences, imports
	minShared  = 4    // sampled runs that a copy shares at least
	copyShared = 0.25 // of its sampled runs
)

// Shingles are the runs of lines of trees that must stay out of a corpus. Add all files
// before the first call of Copied.
type Shingles struct{ files map[uint64]uint8 }

// NewShingles returns the shingles of no tree.
func NewShingles() *Shingles { return &Shingles{files: map[uint64]uint8{}} }

// Add adds a file that must stay out.
func (s *Shingles) Add(data []byte) {
	own := map[uint64]bool{}
	for _, run := range runs(data) {
		own[run] = true
	}
	for run := range own {
		s.files[run] = min(s.files[run]+1, common)
	}
}

// Copied reports whether a file is a near copy of one that was added: a quarter of its
// runs of lines stand in them too.
func (s *Shingles) Copied(data []byte) bool {
	shared, all := 0, 0
	for _, run := range runs(data) {
		n := s.files[run]
		if n >= common {
			continue
		}
		all++
		if n > 0 {
			shared++
		}
	}
	return shared >= minShared && float64(shared) >= copyShared*float64(all)
}

// runs returns the hashes of the sampled runs of a file.
func runs(data []byte) (sampled []uint64) {
	var window [runLines]uint64
	n := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		line = strings.TrimSpace(line)
		if len(line) < minLine {
			continue
		}
		copy(window[:], window[1:])
		window[runLines-1] = xxhash.Sum64String(line)
		if n++; n < runLines {
			continue
		}
		hash := uint64(0)
		for _, line := range window {
			hash = (hash ^ line) * 0x9e3779b97f4a7c15
			hash ^= hash >> 32
		}
		if hash%sample == 0 {
			sampled = append(sampled, hash)
		}
	}
	return sampled
}
