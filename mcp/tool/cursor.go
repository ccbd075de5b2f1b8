package tool

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"

	"github.com/freshet/freshet/store/search"
)

// writeCursor encodes a pagination cursor: the offset at which an answer stopped. It is bound
// to the snapshot and the query, so that a page never continues another list.
func writeCursor(offset int, snapshot uint64, digest string) string {
	return writeNumbers([]uint64{uint64(offset)}, snapshot, digest)
}

func writeNumbers(numbers []uint64, snapshot uint64, digest string) string {
	data := binary.AppendUvarint([]byte{}, snapshot)
	for _, n := range numbers {
		data = binary.AppendUvarint(data, n)
	}
	return base64.RawURLEncoding.EncodeToString(append(data, digest...))
}

// readCursor returns the offset of a cursor that was written for this snapshot and digest.
func (c *call) readCursor(word string, snapshot uint64, digest string) (int, error) {
	numbers, err := c.readNumbers(word, 1, snapshot, digest)
	if err != nil {
		return 0, err
	}
	return int(numbers[0]), nil
}

// readNumbers returns the numbers of a cursor, each at most search.MaxOffset.
func (c *call) readNumbers(word string, count int, snapshot uint64, digest string) ([]uint64, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(word)
	written, size := binary.Uvarint(data)
	bad := err != nil || size <= 0
	numbers := make([]uint64, count)
	for i := 0; i < count && !bad; i++ {
		data = data[size:]
		numbers[i], size = binary.Uvarint(data)
		bad = size <= 0 || numbers[i] > search.MaxOffset
	}
	switch {
	case bad:
		return nil, c.anew(Invalid("cursor", "is not one of ours: repeat the call without it"))
	case string(data[size:]) != digest:
		return nil, c.anew(Errorf(CodeCursorMismatch, "the cursor belongs to another call: its other arguments must stay as they were"))
	case written != snapshot:
		return nil, c.anew(Errorf(CodeCursorExpired, "the cursor belongs to snapshot %d and %d is served now", written, snapshot).
			Detail("snapshot", snapshot))
	}
	return numbers, nil
}

// placeNumbers is how many numbers a place in a scan has.
const placeNumbers = 6

// writePlace makes a place in the scan of a regular expression a cursor.
func writePlace(p search.Place, snapshot uint64, digest string) string {
	return writeNumbers([]uint64{uint64(p.File), uint64(p.Line), uint64(p.At), uint64(p.Found), uint64(p.Unread), uint64(p.Costly)},
		snapshot, digest)
}

// readPlace reads a cursor that writePlace wrote.
func (c *call) readPlace(word string, snapshot uint64, digest string) (search.Place, error) {
	n, err := c.readNumbers(word, placeNumbers, snapshot, digest)
	if err != nil {
		return search.Place{}, err
	}
	return search.Place{File: int(n[0]), Line: uint32(n[1]), At: uint32(n[2]), Found: int(n[3]), Unread: int(n[4]), Costly: int(n[5])}, nil
}

// anew adds the call without its cursor as the next step.
func (c *call) anew(e *Error) *Error {
	if c.repeat == nil {
		return e
	}
	again := maps.Clone(c.repeat)
	delete(again, "cursor")
	return e.Next(NextStep{c.tool, again, "starts the list anew"})
}

// digestOf is a short digest of what a list depends on.
func digestOf(parts ...any) string {
	data, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings, numbers and lists of strings
	}
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}
