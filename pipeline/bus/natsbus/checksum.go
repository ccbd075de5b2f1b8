package natsbus

import (
	"errors"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/freshet/freshet/store"
)

// headerChecksum carries the checksum of a message. The server's own checksum does not cover
// the length of the headers: a flipped bit there yields another message from a record that
// the server takes for intact.
const headerChecksum = "Freshet-Sum"

// errChecksum is returned for a message that differs from what was published.
var errChecksum = errors.New("message is damaged: its checksum does not match")

// setChecksum sets the checksum header. The message must otherwise be complete.
func setChecksum(msg *nats.Msg) { msg.Header.Set(headerChecksum, checksumOf(msg.Header, msg.Data)) }

// verifyChecksum returns errChecksum when a message does not match its checksum.
func verifyChecksum(header nats.Header, data []byte) error {
	if header.Get(headerChecksum) != checksumOf(header, data) {
		return errChecksum
	}
	return nil
}

// decodeBody verifies the checksum of a message and returns its body, decrypted and
// decompressed. With an error it returns the bytes as they are.
func (b *Bus) decodeBody(id store.CodebaseID, header nats.Header, data []byte) ([]byte, error) {
	if err := verifyChecksum(header, data); err != nil {
		return data, err
	}
	body, encoding := data, header.Get(headerEncoding)
	if rest, ok := strings.CutPrefix(encoding, encodingKey); ok {
		var err error
		if body, err = b.keys.decrypt(id, data); err != nil {
			return data, err
		}
		encoding = rest
	}
	plain, err := b.compressor.decompress(encoding, body)
	if err != nil {
		return data, err
	}
	return plain, nil
}

// encodeBody sets the body of a message: compressed, and encrypted under the key of its
// codebase.
func (b *Bus) encodeBody(msg *nats.Msg, id store.CodebaseID, data []byte) error {
	b.compressor.compress(msg, data)
	ciphertext, ok, err := b.keys.encrypt(id, msg.Data)
	if err != nil || !ok {
		return err
	}
	msg.Data = ciphertext
	msg.Header.Set(headerEncoding, encodingKey+msg.Header.Get(headerEncoding))
	return nil
}

// checksumOf returns the xxHash64 of a message's ID, encoding and body.
func checksumOf(header nats.Header, data []byte) string {
	var d xxhash.Digest
	d.Reset()
	for _, word := range []string{identity(header), header.Get(headerEncoding)} {
		_, _ = d.WriteString(word) // a digest takes everything
		_, _ = d.Write([]byte{0})
	}
	_, _ = d.Write(data)
	return strconv.FormatUint(d.Sum64(), 16)
}

// identity returns the ID that the publisher gave a message.
func identity(h nats.Header) string {
	if id := h.Get(headerIdentity); id != "" {
		return id
	}
	return h.Get(jetstream.MsgIDHeader)
}
