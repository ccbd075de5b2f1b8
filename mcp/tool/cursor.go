package tool

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"

	"github.com/freshet/freshet/store/search"
)

// cursor is the place where an answer stopped. It is bound to the snapshot and the query,
// so that a page never continues another list.
type cursor struct {
	Snapshot uint64 `json:"s"`
	Query    string `json:"q"`
	Offset   int    `json:"o"`
}

func writeCursor(offset int, snapshot uint64, q search.Query) string {
	data, err := json.Marshal(cursor{snapshot, queryDigest(q), offset})
	if err != nil {
		panic(err) // two words and a number
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func readCursor(s string, snapshot uint64, q search.Query) (int, error) {
	var at cursor
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	if err != nil || at.Offset < 0 {
		return 0, Invalid("cursor", "is not one of ours: repeat the call without it")
	}
	again := NextStep{ToolSearch, map[string]any{"query": q.Text, "mode": string(q.Mode)}, "starts the list anew"}
	switch {
	case at.Query != queryDigest(q):
		return 0, Errorf(CodeCursorMismatch, "the cursor belongs to another query").Next(again)
	case at.Snapshot != snapshot:
		return 0, Errorf(CodeCursorMismatch, "the cursor belongs to snapshot %d and %d is served now",
			at.Snapshot, snapshot).Next(again)
	}
	return at.Offset, nil
}

func queryDigest(q search.Query) string {
	q.Offset, q.Limit, q.Explain = 0, 0, false
	data, err := json.Marshal(q)
	if err != nil {
		panic(err) // strings, numbers and lists of strings
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
