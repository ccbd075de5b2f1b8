package natsbus

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"github.com/freshet/freshet/pipeline/bus"
)

// The encodings of message bodies, named by a header, so that a log may hold all of them.
// JetStream's own compression does not cover the block that is being written, which in most
// logs is the only one.
const (
	headerEncoding = "Freshet-Encoding"
	encodingZstd   = "zstd"
	encodingKey    = "key+" // under the key of the codebase; the encoding inside follows
	compressAbove  = 512    // bytes
)

// compressor compresses and decompresses message bodies with zstd. It may be used from
// several goroutines.
type compressor struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCompressor() (compressor, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return compressor{}, fmt.Errorf("make message encoder: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(bus.MaxMessage), zstd.WithDecoderLowmem(true))
	if err != nil {
		return compressor{}, fmt.Errorf("make message decoder: %w", err)
	}
	return compressor{encoder, decoder}, nil
}

// compress sets the body of a message to data, compressed where that makes it smaller.
func (p compressor) compress(msg *nats.Msg, data []byte) {
	msg.Data = data
	if len(data) < compressAbove {
		return
	}
	if packed := p.encoder.EncodeAll(data, nil); len(packed) < len(data) {
		msg.Data = packed
		msg.Header.Set(headerEncoding, encodingZstd)
	}
}

// decompress undoes compress. It returns an error when the bytes are damaged.
func (p compressor) decompress(encoding string, data []byte) ([]byte, error) {
	switch encoding {
	case "":
		return data, nil
	case encodingZstd:
		plain, err := p.decoder.DecodeAll(data, nil)
		if err != nil {
			return nil, fmt.Errorf("unpack message: %w", err)
		}
		return plain, nil
	default:
		return nil, fmt.Errorf("unpack message: unknown encoding %q", encoding)
	}
}
