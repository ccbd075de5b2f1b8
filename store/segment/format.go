package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/freshet/freshet/store"
)

// ErrCorrupt is wrapped by every error of Open. It wraps store.ErrCorrupt.
var ErrCorrupt = fmt.Errorf("segment does not hold together: %w", store.ErrCorrupt)

// ErrTooLarge is returned by Finish when a section outgrows its 32-bit offsets: the files
// must be divided over several segments.
var ErrTooLarge = errors.New("segment is too large")

// Version is the version of the format, and of what a builder makes of a file.
const Version = 2

const (
	magic = "frshseg\x02"

	alignment  = 8
	headerSize = len(magic) + 6*4 + 3*8 + sectionCount*16
)

// section numbers a part of the blob.
type section int

const (
	sectionFiles section = iota
	sectionChunks
	sectionDefinitions
	sectionNameOrder   // definition ordinals sorted by lower-cased name
	sectionStrings     // paths, languages, kinds, names, breadcrumbs
	sectionKinds       // spans in strings
	sectionTermOffsets // into sectionTerms, one more than there are terms
	sectionTerms       // sorted
	sectionPostingOffsets
	sectionPostings
	sectionVectors
	sectionSigns
	sectionScales
	sectionHasVector
	sectionTrigrams // of the files' contents, empty in a small segment
	sectionCount    = 15
)

// Sizes of the records of the tables.
const (
	fileSize       = 128
	chunkSize      = 36
	definitionSize = 20
	spanSize       = 8
)

// The name's length and the kind of a definition share a number.
const (
	kindShift = 16
	maxName   = 1<<kindShift - 1
)

// header is the fixed beginning of a blob. Token counts are sums over all chunks; a file's
// path counts once for each of its chunks.
type header struct {
	dimension, files, chunks, definitions, terms uint32
	bodyTokens, pathTokens, nameTokens           uint64
	offsets, lengths                             [sectionCount]uint64
}

func (h *header) append(dst []byte) []byte {
	dst = append(dst, magic...)
	for _, v := range []uint32{Version, h.dimension, h.files, h.chunks, h.definitions, h.terms} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	for _, v := range []uint64{h.bodyTokens, h.pathTokens, h.nameTokens} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	for i := range sectionCount {
		dst = binary.LittleEndian.AppendUint64(dst, h.offsets[i])
		dst = binary.LittleEndian.AppendUint64(dst, h.lengths[i])
	}
	return dst
}

func parseHeader(data []byte) (*header, error) {
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: no header", ErrCorrupt)
	}
	at := len(magic)
	u32 := func() uint32 {
		at += 4
		return binary.LittleEndian.Uint32(data[at-4:])
	}
	u64 := func() uint64 {
		at += 8
		return binary.LittleEndian.Uint64(data[at-8:])
	}
	if v := u32(); v != Version {
		return nil, fmt.Errorf("%w: format version %d, want %d", ErrCorrupt, v, Version)
	}
	h := &header{dimension: u32(), files: u32(), chunks: u32(), definitions: u32(), terms: u32(),
		bodyTokens: u64(), pathTokens: u64(), nameTokens: u64()}
	for i := range sectionCount {
		h.offsets[i], h.lengths[i] = u64(), u64()
		size := uint64(len(data))
		if h.offsets[i] > size || h.lengths[i] > size-h.offsets[i] {
			return nil, fmt.Errorf("%w: section %d beyond the end", ErrCorrupt, i)
		}
	}
	if h.dimension > math.MaxUint16 {
		return nil, fmt.Errorf("%w: dimension %d", ErrCorrupt, h.dimension)
	}
	return h, nil
}

// signWords is the number of 64-bit words of a vector's sign bits.
func signWords(dimension int) int { return (dimension + 63) / 64 }
