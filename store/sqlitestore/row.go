package sqlitestore

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// sumSize is the length of the checksum at the end of a sealed body.
const sumSize = 8

// seal appends to the value of a row the checksum of its table, key and value.
func seal(value []byte, table string, key ...[]byte) []byte {
	return binary.BigEndian.AppendUint64(value, rowSum(value, table, key))
}

// unseal takes the checksum off and returns store.ErrCorrupt when it does not match.
func unseal(body []byte, table string, key ...[]byte) ([]byte, error) {
	if len(body) >= sumSize {
		value := body[:len(body)-sumSize]
		if binary.BigEndian.Uint64(body[len(value):]) == rowSum(value, table, key) {
			return value, nil
		}
	}
	return nil, fmt.Errorf("row of table %s: %w: %w", table, store.ErrCorrupt, store.ErrChecksum)
}

func rowSum(value []byte, table string, key [][]byte) uint64 {
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

// writer encodes the value of a row: integers as varints, strings with their lengths.
type writer struct{ buf []byte }

func (w *writer) uint(v uint64)      { w.buf = binary.AppendUvarint(w.buf, v) }
func (w *writer) int(v int64)        { w.buf = binary.AppendVarint(w.buf, v) }
func (w *writer) hash(h merkle.Hash) { w.buf = append(w.buf, h[:]...) }

func (w *writer) string(s string) {
	w.uint(uint64(len(s)))
	w.buf = append(w.buf, s...)
}

func (w *writer) bool(b bool) {
	if b {
		w.buf = append(w.buf, 1)
	} else {
		w.buf = append(w.buf, 0)
	}
}

// time keeps nanoseconds; the zero time, which has none, is a flag.
func (w *writer) time(t time.Time) {
	w.bool(!t.IsZero())
	if !t.IsZero() {
		w.int(t.Unix())
		w.uint(uint64(t.Nanosecond()))
	}
}

// reader decodes what a writer encoded. After the first fault every value is zero, and
// end returns store.ErrCorrupt.
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

func (r *reader) string() string { return string(r.take(r.uint())) }

func (r *reader) hash() (h merkle.Hash) {
	copy(h[:], r.take(uint64(len(h))))
	return h
}

func (r *reader) bool() bool {
	b := r.take(1)
	return len(b) == 1 && b[0] == 1
}

func (r *reader) time() time.Time {
	if !r.bool() {
		return time.Time{}
	}
	seconds := r.int()
	return time.Unix(seconds, int64(r.uint())).UTC()
}

func (r *reader) end(what string) error {
	if r.bad || len(r.buf) > 0 {
		return fmt.Errorf("%s cannot be decoded: %w", what, store.ErrCorrupt)
	}
	return nil
}
