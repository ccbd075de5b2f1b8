package sqlitestore

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// rowSum is the checksum of a row: of the name of its table and of all its values, each with
// its type and length. A value of a type that no column has counts for nothing.
func rowSum(table string, values ...any) int64 {
	buf := append(make([]byte, 0, 256), table...)
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			buf = append(buf, 0)
		case int64:
			buf = binary.BigEndian.AppendUint64(append(buf, 1), uint64(v))
		case []byte:
			buf = append(binary.BigEndian.AppendUint64(append(buf, 2), uint64(len(v))), v...)
		case string:
			buf = append(binary.BigEndian.AppendUint64(append(buf, 3), uint64(len(v))), v...)
		}
	}
	return int64(xxhash.Sum64(buf))
}

// columns gathers the values of a row as they are bound to a statement.
type columns struct{ values []any }

func (w *columns) int(v int64)        { w.values = append(w.values, v) }
func (w *columns) uint(v uint64)      { w.int(int64(v)) }
func (w *columns) text(s string)      { w.values = append(w.values, s) }
func (w *columns) bytes(s string)     { w.values = append(w.values, blob(s)) }
func (w *columns) hash(h merkle.Hash) { w.values = append(w.values, h[:]) }
func (w *columns) null()              { w.values = append(w.values, nil) }

func (w *columns) bool(b bool) {
	if b {
		w.int(1)
	} else {
		w.int(0)
	}
}

// time is null for the zero time.
func (w *columns) time(t time.Time) {
	if t.IsZero() {
		w.null()
	} else {
		w.int(t.UnixNano())
	}
}

// summed appends the checksum of the row and returns its values.
func (w *columns) summed(table string) []any {
	w.int(rowSum(table, w.values...))
	return w.values
}

// put is a statement that writes a row of a table, of whose columns the first so many are
// the key, in the place of the one with its key. What is there already as it is given is
// not written, as it would be by INSERT OR REPLACE.
func put(table, columns string, keys int) string {
	names := strings.Split(columns, ", ")
	changes := make([]string, 0, len(names))
	for _, name := range names[keys:] {
		changes = append(changes, name+" = excluded."+name)
	}
	return "INSERT INTO " + table + " (" + columns + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) +
		") ON CONFLICT DO UPDATE SET " + strings.Join(changes, ", ")
}

// record reads the rows of a query for all columns of a table in their order, of which the
// checksum is the last. It may be used for one row after the other. What is taken beyond a
// fault is zero.
type record struct {
	table  string
	values []any
	dest   []any
	at     int
	bad    bool
}

// newRecord returns a record of the columns of a table.
func newRecord(table, columns string) *record {
	n := strings.Count(columns, ",") + 1
	r := &record{table: table, values: make([]any, n), dest: make([]any, n)}
	for i := range r.values {
		r.dest[i] = cell{&r.values[i]}
	}
	return r
}

// cell takes a value as the driver has it. To scan into an any would copy blobs once more.
type cell struct{ value *any }

// Scan keeps a value, which is valid until the next row.
func (c cell) Scan(v any) error {
	*c.value = v
	return nil
}

// scan reads a row and returns store.ErrCorrupt when its checksum does not match. The values
// can be taken in either case.
func (r *record) scan(rows *sql.Rows) error {
	if err := rows.Scan(r.dest...); err != nil {
		return err
	}
	return r.check()
}

// check compares the last value of the row with the checksum of the others.
func (r *record) check() error {
	r.at, r.bad = 0, false
	last := len(r.values) - 1
	if sum, ok := r.values[last].(int64); ok && sum == rowSum(r.table, r.values[:last]...) {
		return nil
	}
	return fmt.Errorf("row of table %s: %w: %w", r.table, store.ErrCorrupt, store.ErrChecksum)
}

// take returns the next value when it has the type of zero, and otherwise zero.
func take[T any](r *record) (v T) {
	v, ok := r.values[r.at].(T)
	r.bad = r.bad || !ok
	r.at++
	return v
}

func (r *record) int() int64    { return take[int64](r) }
func (r *record) uint() uint64  { return uint64(take[int64](r)) }
func (r *record) text() string  { return take[string](r) }
func (r *record) bytes() string { return string(take[[]byte](r)) }
func (r *record) bool() bool    { return take[int64](r) == 1 }
func (r *record) isNull() bool  { return r.values[r.at] == nil }

func (r *record) hash() (h merkle.Hash) {
	b := take[[]byte](r)
	r.bad = r.bad || len(b) != len(h)
	copy(h[:], b)
	return h
}

func (r *record) time() time.Time {
	if r.isNull() {
		r.at++
		return time.Time{}
	}
	return time.Unix(0, r.int()).UTC()
}

// end returns store.ErrCorrupt when a value had another type than was taken.
func (r *record) end() error {
	if r.bad {
		return fmt.Errorf("row of table %s has other columns: %w", r.table, store.ErrCorrupt)
	}
	return nil
}

// list is a JSON array of numbers.
func list[N ~uint32 | ~uint64](numbers []N) string {
	b := []byte{'['}
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(n), 10)
	}
	return string(append(b, ']'))
}

// list takes a JSON array of numbers as list writes it.
func (r *record) list() (numbers []uint64) {
	text := r.text()
	inner, opened := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	r.bad = r.bad || !opened || !closed
	if inner == "" {
		return nil
	}
	for word := range strings.SplitSeq(inner, ",") {
		n, err := strconv.ParseUint(word, 10, 64)
		r.bad = r.bad || err != nil
		numbers = append(numbers, n)
	}
	return numbers
}
