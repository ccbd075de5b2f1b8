package tool

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"

	"github.com/freshet/freshet/store/search"
)

// writeCursor makes the place where an answer stopped a word. It is bound to the snapshot
// and the query, so that a page never continues another list.
func writeCursor(offset int, snapshot uint64, digest string) string {
	data := binary.AppendUvarint([]byte{}, snapshot)
	data = binary.AppendUvarint(data, uint64(offset))
	return base64.RawURLEncoding.EncodeToString(append(data, digest...))
}

// readCursor returns the offset of a cursor that was written for this snapshot and digest.
func (c *call) readCursor(word string, snapshot uint64, digest string) (int, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(word)
	written, first := binary.Uvarint(data)
	offset, second := binary.Uvarint(data[max(first, 0):])
	switch {
	case err != nil || first <= 0 || second <= 0 || offset > search.MaxOffset*MaxLimit:
		return 0, c.anew(Invalid("cursor", "is not one of ours: repeat the call without it"))
	case string(data[first+second:]) != digest:
		return 0, c.anew(Errorf(CodeCursorMismatch, "the cursor belongs to another call: its other arguments must stay as they were"))
	case written != snapshot:
		return 0, c.anew(Errorf(CodeCursorExpired, "the cursor belongs to snapshot %d and %d is served now", written, snapshot).
			Detail("snapshot", snapshot))
	}
	return int(offset), nil
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
