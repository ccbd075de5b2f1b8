package sqlitestore

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet/freshet/store"
)

// sumSize is the length of the checksum at the end of a sealed body.
const sumSize = 8

// seal appends to the value of a row the checksum of its table, key and value.
func seal(value []byte, table string, key ...[]byte) []byte {
	return binary.BigEndian.AppendUint64(value, blobSum(value, table, key))
}

// unseal takes the checksum off and returns store.ErrCorrupt when it does not match.
func unseal(body []byte, table string, key ...[]byte) ([]byte, error) {
	if len(body) >= sumSize {
		value := body[:len(body)-sumSize]
		if binary.BigEndian.Uint64(body[len(value):]) == blobSum(value, table, key) {
			return value, nil
		}
	}
	return nil, fmt.Errorf("row of table %s: %w: %w", table, store.ErrCorrupt, store.ErrChecksum)
}

func blobSum(value []byte, table string, key [][]byte) uint64 {
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

// number is an integer as part of a key.
func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// blob makes a path a value that is never NULL.
func blob(s string) []byte { return append([]byte{}, s...) }

// reader decodes integers written as varints and strings with their lengths. After the first
// fault every value is zero, and end returns store.ErrCorrupt.
type reader struct {
	buf []byte
	bad bool
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.buf)
	if n <= 0 {
		r.buf, r.bad = nil, true
		return 0
	}
	r.buf = r.buf[n:]
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.buf)
	if n <= 0 {
		r.buf, r.bad = nil, true
		return 0
	}
	r.buf = r.buf[n:]
	return v
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.buf)) {
		r.buf, r.bad = nil, true
		return nil
	}
	taken := r.buf[:n]
	r.buf = r.buf[n:]
	return taken
}

func (r *reader) end(what string) error {
	if r.bad || len(r.buf) > 0 {
		return fmt.Errorf("%s cannot be decoded: %w", what, store.ErrCorrupt)
	}
	return nil
}
