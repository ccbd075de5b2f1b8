package natsbus

import (
	"errors"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/nats-io/nats.go"
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
func (b *Bus) unseal(header nats.Header, data []byte) ([]byte, error) {
	if err := checkSum(header, data); err != nil {
		return data, err
	}
	plain, err := b.packer.unpack(header, data)
	if err != nil {
		return data, err
	}
	return plain, nil
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
