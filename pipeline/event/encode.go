package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Errors that callers branch on. Encode and Decode wrap one of them.
var (
	// ErrTooLarge says that an event has more than MaxPaths paths or MaxBytes bytes.
	ErrTooLarge = errors.New("event is too large")
	// ErrNewerVersion says that a newer freshet wrote the event: upgrade this binary.
	ErrNewerVersion = errors.New("event was written by a newer freshet; upgrade this binary")
	// ErrUnknownType says that the event is of no type this binary knows.
	ErrUnknownType = errors.New("unknown event type")
	// ErrMalformed says that the event breaks its own contract. It never gets better.
	ErrMalformed = errors.New("malformed event")
)

// Encode writes an event as canonical JSON: fields in the order of the type, map keys
// sorted, time in UTC, no spaces. Equal events give equal bytes. It refuses what Decode
// would refuse.
func Encode(e Event) ([]byte, error) {
	e.At = instant(e.At)
	if err := validate(e); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID(), err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode event %s: %w: %w", e.ID(), ErrMalformed, err)
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("encode event %s: %w: %d bytes, at most %d", e.ID(), ErrTooLarge, len(data), MaxBytes)
	}
	return data, nil
}
