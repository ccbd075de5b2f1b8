package segment

import (
	"fmt"

	"github.com/freshet/freshet/store/trigram"
)

// Open checks the tables of a blob and returns a reader of it. It copies nothing: data
// must not change or go away while the segment or a slice that it gave is in use. The
// error wraps ErrCorrupt.
func Open(data []byte) (*Segment, error) {
	head, err := parseHeader(data)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	s := &Segment{head: *head}
	var trigrams []byte
	for i, part := range []*[]byte{
		&s.files, &s.chunks, &s.definitions, &s.nameOrder, &s.strings, &s.kinds, &s.termOffsets, &s.terms,
		&s.postingOffsets, &s.postings, &s.vectors, &s.signs, &s.scales, &s.has, &trigrams,
	} {
		end := head.offsets[i] + head.lengths[i]
		*part = data[head.offsets[i]:end:end]
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("open segment: %w: %w", ErrCorrupt, err)
	}
	if len(trigrams) > 0 {
		if s.trigrams, err = trigram.Open(trigrams, s.Files()); err != nil {
			return nil, fmt.Errorf("open segment: %w: %w", ErrCorrupt, err)
		}
	}
	return s, nil
}
