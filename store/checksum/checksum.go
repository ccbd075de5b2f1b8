// Package checksum provides the checksum at the end of the blobs that the databases keep: a
// blob that was changed, or that stands in another table or under another key, is corrupt.
package checksum

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet/freshet/store"
)

// Size is how many bytes Append appends.
const Size = 8

// Append appends to a value the checksum of its table, its key and itself: an xxHash, which
// finds damage and no forgery. It may write behind the value.
func Append(value []byte, table string, key ...[]byte) []byte {
	return binary.BigEndian.AppendUint64(value, sum(value, table, key))
}

// Cut returns what Append was given, in place. The error wraps store.ErrCorrupt and
// store.ErrChecksum when the checksum is another.
func Cut(body []byte, table string, key ...[]byte) ([]byte, error) {
	if len(body) >= Size {
		value := body[:len(body)-Size]
		if binary.BigEndian.Uint64(body[len(value):]) == sum(value, table, key) {
			return value, nil
		}
	}
	return nil, fmt.Errorf("row of table %s: %w: %w", table, store.ErrCorrupt, store.ErrChecksum)
}

func sum(value []byte, table string, key [][]byte) uint64 {
	var d xxhash.Digest // no write to it fails
	d.Reset()
	_, _ = d.WriteString(table)
	var n [8]byte
	for _, k := range key {
		binary.BigEndian.PutUint64(n[:], uint64(len(k)))
		_, _ = d.Write(n[:])
		_, _ = d.Write(k)
	}
	_, _ = d.Write(value)
	return d.Sum64()
}
