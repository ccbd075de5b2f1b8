package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/checksum"
)

// carver reads the rows of a database page by page, as a data carving tool does: it needs
// neither the header nor the trees above the leaves, so that a damaged page costs only the
// rows that lie on it. What it returns is to be judged by the checksum of the row.
type carver struct {
	db, wal io.ReaderAt
	size    int // of a page
	pages   uint32
	logged  map[uint32]int64 // where the newest committed image of a page lies in the log
}

// The page size of databases that this package makes, and the lengths of SQLite's headers.
const (
	pageSize      = 8192
	fileHeader    = 100
	walHeader     = 32
	walFrame      = 24
	tableLeaf     = 0x0d
	keyLeaf       = 0x0a
	keyInterior   = 0x02
	leafHeader    = 8
	innerHeader   = 12
	maxCarvedCell = 64 << 20
)

// errCell says that a cell cannot be read.
var errCell = errors.New("cell cannot be read")

func newCarver(db, wal *os.File) (*carver, error) {
	info, err := db.Stat()
	if err != nil {
		return nil, err
	}
	v := &carver{db: db, wal: wal, size: pageSize, logged: map[uint32]int64{}}
	v.pages = uint32((info.Size() + pageSize - 1) / pageSize) //nolint:gosec // SQLite counts pages in 32 bits
	if wal != nil {
		return v, v.readLog(wal)
	}
	return v, nil
}

// readLog finds the committed page images of a write-ahead log, up to the first frame that
// is not whole.
func (v *carver) readLog(wal io.ReaderAt) error {
	header := make([]byte, walHeader)
	if _, err := wal.ReadAt(header, 0); err != nil {
		return ignoreEOF(err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch binary.BigEndian.Uint32(header) {
	case 0x377f0682:
	case 0x377f0683:
		order = binary.BigEndian
	default:
		return nil
	}
	if int(binary.BigEndian.Uint32(header[8:])) != v.size {
		return nil
	}
	sum := walSum(order, [2]uint32{}, header[:24])
	open := map[uint32]int64{} // of the transaction that is being read
	frame := make([]byte, walFrame+v.size)
	for at := int64(walHeader); ; at += int64(len(frame)) {
		if _, err := wal.ReadAt(frame, at); err != nil {
			return ignoreEOF(err)
		}
		sum = walSum(order, walSum(order, sum, frame[:8]), frame[walFrame:])
		if string(frame[8:16]) != string(header[16:24]) ||
			binary.BigEndian.Uint32(frame[16:]) != sum[0] || binary.BigEndian.Uint32(frame[20:]) != sum[1] {
			return nil
		}
		open[binary.BigEndian.Uint32(frame)] = at + walFrame
		if pages := binary.BigEndian.Uint32(frame[4:]); pages > 0 {
			for page, place := range open {
				v.logged[page] = place
			}
			clear(open)
			v.pages = max(v.pages, pages)
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// walSum goes on with the checksum of a write-ahead log.
func walSum(order binary.ByteOrder, sum [2]uint32, data []byte) [2]uint32 {
	for ; len(data) >= 8; data = data[8:] {
		sum[0] += order.Uint32(data) + sum[1]
		sum[1] += order.Uint32(data[4:]) + sum[0]
	}
	return sum
}

func (v *carver) page(number uint32) ([]byte, error) {
	data := make([]byte, v.size)
	if at, ok := v.logged[number]; ok {
		_, err := v.wal.ReadAt(data, at)
		return data, err
	}
	_, err := v.db.ReadAt(data, int64(number-1)*int64(v.size))
	return data, ignoreEOF(err)
}

// rows calls fn for every row on a leaf page of a table. A page or a cell that cannot be
// read is skipped and counted. An error of fn ends it and is returned.
func (v *carver) rows(fn func(row int64, columns []any) error) (skipped int, err error) {
	return v.cells(func(page []byte, kind byte, at int) error {
		if kind != tableLeaf {
			return nil
		}
		row, columns, err := v.cell(page, at)
		if err != nil {
			return err
		}
		return wrapped(fn(row, columns))
	})
}

// keyed is rows for the tables without row ids and for indexes: of those, inner pages hold
// rows, too.
func (v *carver) keyed(fn func(columns []any) error) (skipped int, err error) {
	return v.cells(func(page []byte, kind byte, at int) error {
		switch kind {
		case keyInterior:
			at += 4 // the page below
		case keyLeaf:
		default:
			return nil
		}
		if at >= len(page) {
			return errCell
		}
		length, n := sqliteVarint(page[at:])
		if n == 0 || length > maxCarvedCell {
			return errCell
		}
		payload, err := v.payload(page, at+n, int(length), (v.size-12)*64/255-23) //nolint:gosec // bounded above
		if err != nil {
			return err
		}
		columns, err := cellColumns(payload)
		if err != nil {
			return err
		}
		return wrapped(fn(columns))
	})
}

// stopError is an error of the caller's, which ends the carving.
type stopError struct{ error }

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return stopError{err}
}

// cells calls fn for the place of every cell. It skips and counts a page that cannot be read
// and a cell for which fn returns an error, unless that is a stopError.
func (v *carver) cells(fn func(page []byte, kind byte, at int) error) (skipped int, err error) {
	for number := uint32(1); number <= v.pages; number++ {
		page, err := v.page(number)
		if err != nil {
			skipped++ // a sector that the disk does not give back
			continue
		}
		start := 0
		if number == 1 {
			start = fileHeader
		}
		kind, header := page[start], leafHeader
		switch kind {
		case tableLeaf, keyLeaf:
		case keyInterior:
			header = innerHeader
		default:
			continue
		}
		for i := range int(binary.BigEndian.Uint16(page[start+3:])) {
			at := start + header + 2*i
			if at+2 > len(page) {
				break
			}
			err := fn(page, kind, int(binary.BigEndian.Uint16(page[at:])))
			if stop := (stopError{}); errors.As(err, &stop) {
				return skipped, stop.error
			}
			if err != nil {
				skipped++
			}
		}
	}
	return skipped, nil
}

// cell reads a cell of a table's leaf.
func (v *carver) cell(page []byte, at int) (row int64, columns []any, err error) {
	if at >= len(page) {
		return 0, nil, errCell
	}
	length, n := sqliteVarint(page[at:])
	id, m := sqliteVarint(page[min(at+n, len(page)):])
	if n == 0 || m == 0 || length > maxCarvedCell {
		return 0, nil, errCell
	}
	payload, err := v.payload(page, at+n+m, int(length), v.size-35) //nolint:gosec // bounded above
	if err != nil {
		return 0, nil, err
	}
	columns, err = cellColumns(payload)
	return int64(id), columns, err //nolint:gosec // SQLite writes them so
}

// payload gathers the bytes of a cell from its page, which holds at most so many of them, and
// its overflow pages.
func (v *carver) payload(page []byte, at, length, most int) ([]byte, error) {
	local := length
	if length > most {
		least := (v.size-12)*32/255 - 23
		local = least + (length-least)%(v.size-4)
		if local > most {
			local = least
		}
	}
	end := at + local
	if end > len(page) || local < length && end+4 > len(page) {
		return nil, errCell
	}
	data := append(make([]byte, 0, length), page[at:end]...)
	if local == length {
		return data, nil
	}
	for next := binary.BigEndian.Uint32(page[end:]); len(data) < length; {
		if next == 0 || next > v.pages {
			return nil, errCell
		}
		more, err := v.page(next)
		if err != nil {
			return nil, errCell
		}
		next = binary.BigEndian.Uint32(more)
		data = append(data, more[4:min(len(more), 4+length-len(data))]...)
	}
	return data, nil
}

// cellColumns decodes a row: nil, int64, string or []byte for each column. Rows of this store
// have no floating-point numbers.
func cellColumns(payload []byte) ([]any, error) {
	size, n := sqliteVarint(payload)
	if n == 0 || size > uint64(len(payload)) {
		return nil, errCell
	}
	kinds, body := payload[n:max(n, int(size))], payload[size:] //nolint:gosec // bounded above
	var columns []any
	for len(kinds) > 0 {
		kind, n := sqliteVarint(kinds)
		if n == 0 {
			return nil, errCell
		}
		kinds = kinds[n:]
		width := columnWidth(kind)
		if width > uint64(len(body)) {
			return nil, errCell
		}
		value := body[:width]
		body = body[width:]
		switch {
		case kind == 0:
			columns = append(columns, nil)
		case kind == 8 || kind == 9:
			columns = append(columns, int64(kind-8))
		case kind <= 6:
			columns = append(columns, signed(value))
		case kind >= 12 && kind%2 == 0:
			columns = append(columns, value)
		case kind >= 13:
			columns = append(columns, string(value))
		default:
			return nil, errCell
		}
	}
	return columns, nil
}

// columnWidth is how many bytes a value of a kind takes.
func columnWidth(kind uint64) uint64 {
	switch {
	case kind <= 4:
		return kind
	case kind == 5:
		return 6
	case kind <= 7:
		return 8
	case kind < 12:
		return 0
	}
	return (kind - 12) / 2
}

// signed decodes a big-endian integer of any length.
func signed(b []byte) int64 {
	var v int64
	if len(b) > 0 && b[0]&0x80 != 0 {
		v = -1
	}
	for _, x := range b {
		v = v<<8 | int64(x)
	}
	return v
}

// sqliteVarint decodes an integer of one to nine bytes and returns how many, 0 for none.
func sqliteVarint(b []byte) (v uint64, n int) {
	for i := range min(len(b), 9) {
		if i == 8 {
			return v<<8 | uint64(b[i]), 9
		}
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i]&0x80 == 0 {
			return v, i + 1
		}
	}
	return 0, 0
}

// openCarver opens the files of a store for carving. Close both files afterwards; the log
// is nil when there is none.
func openCarver(dir string) (v *carver, closeFiles func() error, err error) {
	s := &Store{dir: dir}
	db, err := os.Open(s.file())
	if err != nil {
		return nil, nil, fmt.Errorf("open damaged database: %w", err)
	}
	wal, err := os.Open(s.file() + "-wal")
	if err != nil {
		wal = nil
	}
	closeFiles = func() error {
		if wal != nil {
			return firstError(db.Close(), wal.Close())
		}
		return db.Close()
	}
	if v, err = newCarver(db, wal); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("read damaged database: %w", err), closeFiles())
	}
	return v, closeFiles, nil
}

// carvedCodebase decodes a carved row of the table of codebases, as it is or as version 2 of
// the schema had it.
func carvedCodebase(row int64, values []any) (found store.Codebase, ok bool) {
	r := newRecord("codebases", codebaseColumns)
	if len(values) == len(r.values) && values[0] == nil { // the key stands beside the row
		copy(r.values, values)
		r.values[0] = row
		if err := r.check(); err != nil {
			return found, false
		}
		b := r.codebase()
		return b.Codebase, r.end() == nil
	}
	if len(values) != 4 {
		return found, false
	}
	id, isText := values[1].(string)
	root, isRoot := values[2].([]byte)
	body, isBody := values[3].([]byte)
	if !isText || !isRoot || !isBody {
		return found, false
	}
	b, err := version2Codebase(row, id, root, body)
	return b.Codebase, err == nil
}

// carvedSession decodes a carved row of the table of sessions.
func carvedSession(columns []any) (found store.Session, ok bool) {
	if len(columns) != 3 {
		return found, false
	}
	id, isText := columns[0].(string)
	until, isTime := columns[1].(int64)
	body, isBody := columns[2].([]byte)
	if !isText || !isTime || !isBody {
		return found, false
	}
	value, err := checksum.Cut(body, "sessions", []byte(id), number(until))
	return store.Session{ID: id, Until: time.Unix(0, until).UTC(), Body: value}, err == nil
}

// carvedSnapshot decodes a carved row of the table of snapshots, as it is or as version 2 of
// the schema had it.
func carvedSnapshot(values []any) (key int64, num uint64, pinned, ok bool) {
	r := newRecord("snapshots", snapshotColumns)
	if len(values) == len(r.values) {
		copy(r.values, values)
		if r.check() != nil {
			return 0, 0, false, false
		}
		n := r.snapshot("")
		return as[int64](values[0]), n.Number, n.Pinned, r.end() == nil
	}
	if len(values) != 3 {
		return 0, 0, false, false
	}
	key, isKey := values[0].(int64)
	count, isNumber := values[1].(int64)
	body, isBody := values[2].([]byte)
	if !isKey || !isNumber || !isBody {
		return 0, 0, false, false
	}
	n, err := version2Snapshot(key, count, body)
	return key, n.Number, n.Pinned, err == nil
}
