package natsbus

import (
	"errors"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/nats-io/nats.go"

	"github.com/freshet/freshet/store"
)

// headerSum carries the checksum of a message. The server has one of its own, but it
// leaves out where the headers end and the body begins: a flipped bit there makes another
// message, or none, of a record that the server takes for whole.
const headerSum = "Freshet-Sum"

// errSum says that a message is not what was published.
var errSum = errors.New("message is damaged: its checksum does not match")

// seal writes the checksum of a message that is otherwise complete.
func seal(msg *nats.Msg) { msg.Header.Set(headerSum, sumOf(msg.Header, msg.Data)) }

// checkSum compares a message with its checksum.
func checkSum(header nats.Header, data []byte) error {
	if header.Get(headerSum) != sumOf(header, data) {
		return errSum
	}
	return nil
}

// unseal gives the body that was packed and sealed. With an error it gives the bytes as
// they are.
func (b *Bus) unseal(id store.CodebaseID, header nats.Header, data []byte) ([]byte, error) {
	if err := checkSum(header, data); err != nil {
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
	plain, err := b.packer.unpack(encoding, body)
	if err != nil {
		return data, err
	}
	return plain, nil
}

// pack puts a body into a message: compressed, and under the key of its codebase.
func (b *Bus) pack(msg *nats.Msg, id store.CodebaseID, data []byte) error {
	b.packer.pack(msg, data)
	sealed, ok, err := b.keys.encrypt(id, msg.Data)
	if err != nil || !ok {
		return err
	}
	msg.Data = sealed
	msg.Header.Set(headerEncoding, encodingKey+msg.Header.Get(headerEncoding))
	return nil
}

// sumOf covers what a reader takes from a message: its ID, its encoding and its body.
func sumOf(header nats.Header, data []byte) string {
	var d xxhash.Digest
	d.Reset()
	for _, word := range []string{identity(header), header.Get(headerEncoding)} {
		_, _ = d.WriteString(word) // a digest takes everything
		_, _ = d.Write([]byte{0})
	}
	_, _ = d.Write(data)
	return strconv.FormatUint(d.Sum64(), 16)
}
