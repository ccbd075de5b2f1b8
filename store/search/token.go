package search

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// ErrBadToken is wrapped by the errors of ParseToken.
var ErrBadToken = errors.New("bad freshness token")

// tokenPrefix marks a freshness token and the version of its form.
const tokenPrefix = "ft1_"

const maxTokenPart = 200

// String writes a token as one opaque word of URL-safe characters, with a checksum; the
// zero token is "".
func (t Token) String() string {
	if t == (Token{}) {
		return ""
	}
	var data []byte
	for _, part := range []string{t.Epoch, string(t.Codebase)} {
		data = binary.AppendUvarint(data, uint64(len(part)))
		data = append(data, part...)
	}
	data = binary.AppendUvarint(data, t.Snapshot)
	data = append(data, t.Root[:]...)
	data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(data)
}

// ParseToken reverses Token.String. It refuses every word that String cannot have
// written with an error that wraps ErrBadToken.
func ParseToken(word string) (Token, error) {
	if word == "" {
		return Token{}, nil
	}
	encoded, ok := strings.CutPrefix(word, tokenPrefix)
	data, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(data) < 4 || len(data) > 4*maxTokenPart {
		return Token{}, fmt.Errorf("%w: not one of this program", ErrBadToken)
	}
	data, sum := data[:len(data)-4], binary.BigEndian.Uint32(data[len(data)-4:])
	if crc32.ChecksumIEEE(data) != sum {
		return Token{}, fmt.Errorf("%w: checksum does not match", ErrBadToken)
	}
	var parts [2]string
	for i := range parts {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > maxTokenPart || n > uint64(len(data)-size) {
			return Token{}, fmt.Errorf("%w: cut short", ErrBadToken)
		}
		parts[i], data = string(data[size:size+int(n)]), data[size+int(n):]
	}
	snapshot, size := binary.Uvarint(data)
	t := Token{Epoch: parts[0], Codebase: store.CodebaseID(parts[1]), Snapshot: snapshot}
	if size <= 0 || len(data)-size != len(merkle.Hash{}) {
		return Token{}, fmt.Errorf("%w: cut short", ErrBadToken)
	}
	copy(t.Root[:], data[size:])
	if t.String() != word {
		return Token{}, fmt.Errorf("%w: not one of this program", ErrBadToken)
	}
	return t, nil
}
