package natsbus

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"github.com/freshet/freshet/pipeline/bus"
)

// How messages are packed: a header names the encoding, so that a log may hold both kinds.
// JetStream's own compression leaves the block that is being written as it is, which for
// most logs is the only one.
const (
	headerEncoding = "Freshet-Encoding"
	encodingZstd   = "zstd"
	encodingKey    = "key+" // under the key of the codebase; the encoding inside follows
	packAbove      = 512    // bytes
)

// packer packs and unpacks messages. It may be used from several goroutines.
type packer struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newPacker() (packer, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return packer{}, fmt.Errorf("make message encoder: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(bus.MaxMessage), zstd.WithDecoderLowmem(true))
	if err != nil {
		return packer{}, fmt.Errorf("make message decoder: %w", err)
	}
	return packer{encoder, decoder}, nil
}

// pack puts data into a message, compressed where that makes it smaller.
func (p packer) pack(msg *nats.Msg, data []byte) {
	msg.Data = data
	if len(data) < packAbove {
		return
	}
	if packed := p.encoder.EncodeAll(data, nil); len(packed) < len(data) {
		msg.Data = packed
		msg.Header.Set(headerEncoding, encodingZstd)
	}
}

// unpack gives back what pack was given. The error says that the bytes are damaged.
func (p packer) unpack(encoding string, data []byte) ([]byte, error) {
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
