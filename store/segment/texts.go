package segment

import (
	"encoding/binary"
	"sort"

	"github.com/klauspost/compress/s2"
)

const (
	// textBlock is the size at which a block of signatures and comments is compressed.
	textBlock = 32 << 10
	// maxTextBlock is the most a reader decompresses of one block.
	maxTextBlock = 16 << 20
)

// texts collects the signatures and comments of definitions in compressed blocks.
type texts struct {
	raw     []byte // of the block under way
	start   uint32 // where it begins among all raw bytes
	offsets []byte
	data    []byte
}

// add stores the texts of a definition and returns where they stand among all raw bytes.
func (t *texts) add(signature, doc string) (at uint32) {
	if len(t.raw) >= textBlock {
		t.flush()
	}
	at = t.start + uint32(len(t.raw))
	for _, s := range []string{signature, doc} {
		t.raw = binary.AppendUvarint(t.raw, uint64(len(s)))
		t.raw = append(t.raw, s...)
	}
	return at
}

func (t *texts) flush() {
	if len(t.raw) == 0 {
		return
	}
	t.offsets = appendNumbers(t.offsets, t.start, uint32(len(t.data)))
	t.data = append(t.data, s2.EncodeBetter(nil, t.raw)...)
	t.start += uint32(len(t.raw))
	t.raw = t.raw[:0]
}

// definitionTexts returns the signature and the comment that stand at a place among all
// raw bytes, empty when they are damaged.
func (s *Segment) definitionTexts(at uint32) (signature, doc string) {
	blocks := len(s.textOffsets)/blockSize - 1
	block := sort.Search(blocks, func(i int) bool { return number(s.textOffsets, 2*i) > at }) - 1
	if block < 0 {
		return "", ""
	}
	raw := decodeBlock(s.texts[number(s.textOffsets, 2*block+1):number(s.textOffsets, 2*block+3)])
	return parseTexts(raw, at-number(s.textOffsets, 2*block))
}

// decodeBlock returns the texts of a block, or nil when it is damaged.
func decodeBlock(data []byte) []byte {
	n, err := s2.DecodedLen(data)
	if err != nil || n > maxTextBlock {
		return nil
	}
	raw, err := s2.Decode(nil, data)
	if err != nil {
		return nil
	}
	return raw
}

// parseTexts returns the texts at an offset of a decoded block, empty when damaged.
func parseTexts(raw []byte, offset uint32) (signature, doc string) {
	if uint64(offset) > uint64(len(raw)) {
		return "", ""
	}
	raw = raw[offset:]
	signature, raw = cutString(raw)
	doc, _ = cutString(raw)
	return signature, doc
}

func cutString(raw []byte) (string, []byte) {
	n, size := binary.Uvarint(raw)
	if size <= 0 || n > uint64(len(raw)-size) {
		return "", nil
	}
	raw = raw[size:]
	return string(raw[:n]), raw[n:]
}
