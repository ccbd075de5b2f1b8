package sqlitestore

import (
	"encoding/binary"
	"fmt"

	"github.com/freshet/freshet/store"
)

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
