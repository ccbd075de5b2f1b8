package segment

import (
	"encoding/binary"

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
	raw     []byte
	offsets []byte
	data    []byte
	blocks  uint32
}

// add stores the texts of a definition and returns where they stand.
func (t *texts) add(signature, doc string) (block, offset uint32) {
	if len(t.raw) >= textBlock {
		t.flush()
	}
	block, offset = t.blocks, uint32(len(t.raw))
	for _, s := range []string{signature, doc} {
		t.raw = binary.AppendUvarint(t.raw, uint64(len(s)))
		t.raw = append(t.raw, s...)
	}
	return block, offset
}

func (t *texts) flush() {
	if len(t.raw) == 0 {
		return
	}
	t.offsets = binary.LittleEndian.AppendUint32(t.offsets, uint32(len(t.data)))
	t.data = append(t.data, s2.EncodeBetter(nil, t.raw)...)
	t.raw = t.raw[:0]
	t.blocks++
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
