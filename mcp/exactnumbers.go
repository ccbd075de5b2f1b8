package mcpserver

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strconv"
)

// exactNumbers preserves the numeric request IDs and progress tokens of clients, which the
// SDK would round: a number that is not a small integer is replaced by a string with a random
// prefix on the way in, and restored on the way out.
type exactNumbers struct {
	mark    string
	written *regexp.Regexp
}

func newExactNumbers() exactNumbers {
	mark := "number-" + randomText() + ":"
	return exactNumbers{mark, regexp.MustCompile(`"` + regexp.QuoteMeta(mark) + `([-+.0-9eE]+)"`)}
}

// in returns a message with its IDs protected. A message that cannot be decoded is returned
// as it is, for the SDK to refuse.
func (x exactNumbers) in(message []byte) []byte {
	var top map[string]json.RawMessage
	if json.Unmarshal(message, &top) != nil {
		return message
	}
	changed := x.protect(top, "id")
	var params map[string]json.RawMessage
	if json.Unmarshal(top["params"], &params) == nil {
		inside := x.protect(params, "requestId")
		var meta map[string]json.RawMessage
		if json.Unmarshal(params["_meta"], &meta) == nil && x.protect(meta, "progressToken") {
			inside, params["_meta"] = true, encodeRaw(meta)
		}
		if inside {
			changed, top["params"] = true, encodeRaw(params)
		}
	}
	if !changed {
		return message
	}
	return encodeRaw(top)
}

func (x exactNumbers) protect(members map[string]json.RawMessage, name string) bool {
	text := string(bytes.TrimSpace(members[name]))
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text && math.Abs(float64(n)) < 1<<53 {
		return false
	}
	members[name] = json.RawMessage(strconv.Quote(x.mark + text))
	return true
}

// encodeRaw encodes members that were decoded from JSON.
func encodeRaw(members map[string]json.RawMessage) json.RawMessage {
	data, err := json.Marshal(members)
	if err != nil {
		panic(err) // it came as JSON
	}
	return data
}

// out returns a message with the numbers restored.
func (x exactNumbers) out(data []byte) []byte {
	if !bytes.Contains(data, []byte(x.mark)) {
		return data
	}
	return x.written.ReplaceAll(data, []byte("$1"))
}

// exactWriter restores the numbers in a response, line by line: no prefix spans two lines.
type exactWriter struct {
	http.ResponseWriter
	exact exactNumbers
	held  []byte
}

// Write buffers data and passes on the complete lines.
func (w *exactWriter) Write(data []byte) (int, error) {
	w.held = append(w.held, data...)
	end := bytes.LastIndexByte(w.held, '\n') + 1
	if end == 0 {
		return len(data), nil
	}
	_, err := w.ResponseWriter.Write(w.exact.out(w.held[:end]))
	w.held = w.held[end:]
	return len(data), err
}

// end passes on the last line.
func (w *exactWriter) end() {
	if len(w.held) > 0 {
		_, _ = w.ResponseWriter.Write(w.exact.out(w.held)) // a client that is gone does not matter
	}
}

// Unwrap is for http.ResponseController.
func (w *exactWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// FlushError sends what was written.
func (w *exactWriter) FlushError() error { return http.NewResponseController(w.ResponseWriter).Flush() }

// Flush sends what was written.
func (w *exactWriter) Flush() { _ = w.FlushError() }
