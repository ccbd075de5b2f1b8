package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/freshet/freshet/store/trigram"
)

// Segment reads a blob in place. It may be used from several goroutines, as long as the
// bytes it was opened on stay valid.
type Segment struct {
	head header

	files, chunks, definitions, nameOrder, strings, kinds []byte
	termOffsets, terms, postingOffsets, postings          []byte
	vectors, signs, scales, has                           []byte

	trigrams *trigram.Index // nil without
}

// Candidates returns the files whose contents may match a query, and whether the segment
// can tell: without an index of trigrams every file may match. The error wraps ErrCorrupt.
func (s *Segment) Candidates(q *trigram.Query) (files trigram.Set, known bool, err error) {
	if s.trigrams == nil || q.All() {
		return nil, false, nil
	}
	files, err = s.trigrams.Match(q)
	if err != nil {
		return nil, false, fmt.Errorf("trigrams of segment: %w: %w", ErrCorrupt, err)
	}
	return files, true, nil
}

// Files returns the number of files.
func (s *Segment) Files() int { return int(s.head.files) }

// Chunks returns the number of chunks.
func (s *Segment) Chunks() int { return int(s.head.chunks) }

// Definitions returns the number of definitions.
func (s *Segment) Definitions() int { return int(s.head.definitions) }

// Terms returns the number of distinct terms.
func (s *Segment) Terms() int { return int(s.head.terms) }

// Dimension returns the dimension that the builder was given.
func (s *Segment) Dimension() int { return int(s.head.dimension) }

// Tokens returns the sums over all chunks of the words of their texts, of their files'
// paths, and of the names that they define.
func (s *Segment) Tokens() (body, path, names uint64) {
	return s.head.bodyTokens, s.head.pathTokens, s.head.nameTokens
}

// Lookup returns the lists of a term, which are empty when the segment does not have it.
func (s *Segment) Lookup(term string) Term {
	key := []byte(term)
	n := s.Terms()
	i := sort.Search(n, func(i int) bool { return bytes.Compare(s.term(i), key) >= 0 })
	if i == n || !bytes.Equal(s.term(i), key) {
		return Term{}
	}
	data := s.postings[number(s.postingOffsets, i):number(s.postingOffsets, i+1)]
	return parseTerm(data, s.Chunks(), s.Files(), s.Definitions())
}

func (s *Segment) term(i int) []byte {
	return s.terms[number(s.termOffsets, i):number(s.termOffsets, i+1)]
}

// number returns the i-th 32-bit number of a table.
func number(table []byte, i int) uint32 { return binary.LittleEndian.Uint32(table[4*i:]) }

// field returns the i-th 32-bit number of a record.
func field(table []byte, size, record, i int) uint32 {
	return binary.LittleEndian.Uint32(table[record*size+4*i:])
}

func (s *Segment) str(table []byte, size, record, i int) []byte {
	offset := field(table, size, record, i)
	return s.strings[offset : offset+field(table, size, record, i+1)]
}
