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

// maxDepth bounds the nesting of a message, far above that of the protocol's messages.
const maxDepth = 64

var errBatch = errors.New("batches are not served")

// checkMessage returns an error for an ambiguous or hostile message: invalid JSON or UTF-8,
// more than one value, a duplicate member, a NUL in a name, or nesting beyond maxDepth. JSON
// parsers differ on such messages, which attackers use to bypass checks.
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
