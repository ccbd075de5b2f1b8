package pgstore

import (
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/freshet/freshet/store"
)

// The first byte of a packed blob.
const (
	packedRaw  = 0
	packedZstd = 1
)

// maxUnpacked bounds what a damaged blob may ask for.
const maxUnpacked = 1 << 30

// codec compresses blobs. It may be used from several goroutines: its encoder and decoder
// keep a pool of states each.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCodec() (codec, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(4), zstd.WithWindowSize(1<<20))
	if err != nil {
		return codec{}, fmt.Errorf("make encoder: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(4), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		return codec{}, fmt.Errorf("make decoder: %w", err)
	}
	return codec{encoder, decoder}, nil
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

// unpack reverses pack. It returns a copy, which is never nil.
func (c codec) unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, fmt.Errorf("blob is empty: %w", store.ErrCorrupt)
	}
	switch packed[0] {
	case packedRaw:
		return append([]byte{}, packed[1:]...), nil
	case packedZstd:
		data, err := c.decoder.DecodeAll(packed[1:], []byte{})
		if err != nil {
			return nil, fmt.Errorf("unpack blob: %w: %w", err, store.ErrCorrupt)
		}
		return data, nil
	}
	return nil, fmt.Errorf("blob is packed in an unknown way: %w", store.ErrCorrupt)
}

// instant is a time as a column: nanoseconds, null for the zero time.
func instant(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixNano()
	return &n
}

func timeOf(n *int64) time.Time {
	if n == nil {
		return time.Time{}
	}
	return time.Unix(0, *n).UTC()
}

// blob makes a string a value that is never null.
func blob(s string) []byte { return append([]byte{}, s...) }
