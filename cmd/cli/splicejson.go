package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// spliceJSON sets members[table][name] of a JSON object and leaves every other byte of the
// file as it is. It refuses a file that is no JSON object or gives a member twice.
func spliceJSON(data []byte, table, name string, value any) ([]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return []byte(indented(map[string]any{table: map[string]any{name: value}}) + "\n"), nil
	}
	top, err := membersOf(data, 0)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	var whole json.RawMessage
	if err := decoder.Decode(&whole); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	servers, ok := top.members[table]
	if !ok {
		return top.insert(data, 1, table, map[string]any{name: value}), nil
	}
	inner, err := membersOf(data, servers.start)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", table, err)
	}
	if old, ok := inner.members[name]; ok {
		text := strings.ReplaceAll(indented(value), "\n", "\n    ")
		return bytes.Join([][]byte{data[:old.start], []byte(text), data[old.end:]}, nil), nil
	}
	return inner.insert(data, 2, name, value), nil
}

// span is where a value stands in a file.
type span struct{ start, end int }

// object is where the members of an object stand: after is the end of the last one, or of
// the opening brace.
type object struct {
	members map[string]span
	after   int
}

// membersOf finds the members of the object that begins at or after an offset.
func membersOf(data []byte, offset int) (object, error) {
	decoder := json.NewDecoder(bytes.NewReader(data[offset:]))
	at := func() int { return offset + int(decoder.InputOffset()) }
	opening, err := decoder.Token()
	if err != nil {
		return object{}, err
	}
	if opening != json.Delim('{') {
		return object{}, errors.New("is not an object")
	}
	found := object{members: map[string]span{}, after: at()}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return object{}, err
		}
		key, _ := token.(string)
		if _, twice := found.members[key]; twice {
			return object{}, fmt.Errorf("the member %q is given twice", key)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return object{}, err
		}
		found.after = at()
		found.members[key] = span{found.after - len(value), found.after}
	}
	_, err = decoder.Token()
	return found, err
}

// insert adds a member after the last one, at a depth of nesting.
func (o object) insert(data []byte, depth int, name string, value any) []byte {
	margin := strings.Repeat("  ", depth)
	text := "\n" + margin + encoded(name) + ": " + strings.ReplaceAll(indented(value), "\n", "\n"+margin)
	if len(o.members) > 0 {
		text = "," + text
	} else if rest := bytes.TrimLeft(data[o.after:], " \t\r"); len(rest) > 0 && rest[0] == '}' {
		text += "\n" + strings.Repeat("  ", depth-1)
	}
	return bytes.Join([][]byte{data[:o.after], []byte(text), data[o.after:]}, nil)
}
