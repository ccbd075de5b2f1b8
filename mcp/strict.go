package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep a message nests. Those of the protocol nest a handful deep.
const maxDepth = 64

var errBatch = errors.New("batches are not served")

// checkMessage reports what makes a message ambiguous or hostile: bytes that are no JSON or
// no UTF-8, more than one value, a member that is given twice, a NUL in a name, and nesting
// without end. Readers that differ on such messages can be played against each other.
func checkMessage(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("the message is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := checkValue(decoder, 0); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the message holds more than one value")
	}
	return nil
}

func checkValue(decoder *json.Decoder, depth int) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("the message is not JSON: %w", err)
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	if depth == maxDepth {
		return fmt.Errorf("the message nests deeper than %d", maxDepth)
	}
	seen := map[string]bool{}
	for decoder.More() {
		if delim == '{' {
			name, err := decoder.Token()
			if err != nil {
				return fmt.Errorf("the message is not JSON: %w", err)
			}
			key, _ := name.(string)
			if seen[key] || strings.ContainsRune(key, 0) {
				return fmt.Errorf("the message has the member %.100q twice or with a NUL", key)
			}
			seen[key] = true
		}
		if err := checkValue(decoder, depth+1); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("the message is not JSON: %w", err)
	}
	return nil
}
