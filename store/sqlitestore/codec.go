package sqlitestore

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/freshet/freshet/store"
)

// The first byte of a packed blob.
const (
	packedRaw  = 0
	packedZstd = 1
)

// maxUnpacked bounds what a damaged frame may ask for.
const maxUnpacked = 1 << 30

// codec compresses blobs. It may be used from several goroutines: its encoder and decoder
// keep a pool of states each.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCodec() codec {
	// The options are constants that both constructors accept.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(4), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(4), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		panic(err)
	}
	return codec{encoder, decoder}
}

func (c codec) close() {
	_ = c.encoder.Close() // it has no output to flush to
	c.decoder.Close()
}

// pack compresses data, or keeps it raw when that is not smaller.
func (c codec) pack(data []byte) []byte {
	packed := c.encoder.EncodeAll(data, append(make([]byte, 0, len(data)/2+64), packedZstd))
	if len(packed) <= len(data) {
		return packed
	}
	return append(append(packed[:0], packedRaw), data...)
}

// unpack reverses pack. It returns a copy.
func (c codec) unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, fmt.Errorf("blob is empty: %w", store.ErrCorrupt)
	}
	switch packed[0] {
	case packedRaw:
		return append([]byte{}, packed[1:]...), nil
	case packedZstd:
		data, err := c.decoder.DecodeAll(packed[1:], nil)
		if err != nil {
			return nil, fmt.Errorf("unpack blob: %w: %w", err, store.ErrCorrupt)
		}
		return data, nil
	}
	return nil, fmt.Errorf("blob is packed in an unknown way: %w", store.ErrCorrupt)
}
