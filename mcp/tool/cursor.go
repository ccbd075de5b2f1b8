package tool

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
)

// cursor is the place where an answer stopped. It is bound to the snapshot and the query,
// so that a page never continues another list.
type cursor struct {
	Snapshot uint64 `json:"s"`
	Query    string `json:"q"`
	Offset   int    `json:"o"`
}

func writeCursor(offset int, snapshot uint64, digest string) string {
	data, err := json.Marshal(cursor{snapshot, digest, offset})
	if err != nil {
		panic(err) // two words and a number
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// readCursor returns the offset of a cursor that was written for this snapshot and digest.
func (c *call) readCursor(word string, snapshot uint64, digest string) (int, error) {
	var at cursor
	data, err := base64.RawURLEncoding.DecodeString(word)
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	switch {
	case err != nil || at.Offset < 0:
		e := Invalid("cursor", "is not one of ours: repeat the call without it")
		return 0, c.anew(e)
	case at.Query != digest:
		return 0, c.anew(Errorf(CodeCursorMismatch, "the cursor belongs to another call: its other arguments must stay as they were"))
	case at.Snapshot != snapshot:
		return 0, c.anew(Errorf(CodeCursorExpired, "the cursor belongs to snapshot %d and %d is served now", at.Snapshot, snapshot).
			Detail("snapshot", snapshot))
	}
	return at.Offset, nil
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

// digestOf digests what a list depends on.
func digestOf(parts ...any) string {
	data, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings, numbers and lists of strings
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
