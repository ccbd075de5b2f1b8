package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/freshet/freshet/store"
)

// maxDepth bounds how deep a message nests; what is written today nests 5 deep.
const maxDepth = 32

// Decode reads an event and refuses one that Encode could not have written: over the size
// (looked at before anything else), of a newer version or an unknown type, with another
// body than its type's, with a path that leaves the root, with a key twice or a key that
// differs from a known one in case only. Fields it does not know are ignored, because
// fields are added over time. Any input is safe.
func Decode(data []byte) (Event, error) {
	e, err := decode(data)
	if err != nil {
		return Event{}, fmt.Errorf("decode event: %w", err)
	}
	return e, nil
}

// AddressOf reads from a message that Decode refused with ErrNewerVersion or ErrUnknownType
// whose it is: no version changes these two. Both are unchecked, and empty when they cannot
// be read.
func AddressOf(data []byte) (store.CodebaseID, store.Fingerprint) {
	var address struct {
		Codebase    store.CodebaseID  `json:"codebase"`
		Fingerprint store.Fingerprint `json:"fingerprint"`
	}
	if err := json.Unmarshal(data, &address); err != nil {
		return "", ""
	}
	return address.Codebase, address.Fingerprint
}

func decode(data []byte) (Event, error) {
	if len(data) > MaxBytes {
		return Event{}, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), MaxBytes)
	}
	if err := checkKeys(data); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var head struct {
		Version int  `json:"version"`
		Type    Type `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err := checkVersion(head.Type, head.Version); err != nil {
		return Event{}, err
	}
	var e Event
	if err := json.Unmarshal(data, &e); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	e.At = instant(e.At)
	return e, validate(e)
}

// checkKeys walks one JSON value and refuses what encoding/json lets pass: a key twice in
// one object, where the last would win, and a key that is not plain lower case, which
// could stand for a field of another spelling. Only the languages of a recipe's grammars
// are spelled freely.
func checkKeys(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := checkValue(d, "", 0); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("more than one value")
	}
	return nil
}

func checkValue(d *json.Decoder, name string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return checkObject(d, name == "grammars", depth)
	case json.Delim('['):
		for d.More() {
			if err := checkValue(d, "", depth+1); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	}
	return nil
}

func checkObject(d *json.Decoder, free bool, depth int) error {
	seen := make(map[string]bool, 16)
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		switch {
		case !ok:
			return fmt.Errorf("key %v is not a string", token)
		case seen[key]:
			return fmt.Errorf("key %q twice", key)
		case !free && !plainKey(key):
			return fmt.Errorf("key %q is not plain lower case", key)
		}
		seen[key] = true
		if err := checkValue(d, key, depth+1); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func plainKey(key string) bool {
	for _, c := range []byte(key) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return key != ""
}
