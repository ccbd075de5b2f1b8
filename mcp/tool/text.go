package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// grouped writes a number with commas between its thousands.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// countLines counts lines; a last one without a line end counts too.
func countLines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// size writes a number of bytes for people.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefixes := float64(n)/unit, "KMGTPE"
	i := 0
	for value >= unit && i < len(prefixes)-1 {
		value /= unit
		i++
	}
	return fmt.Sprintf("%.1f %ciB", value, prefixes[i])
}

// compact writes a value as JSON on one line. Going through any sorts the members, so that
// the text is the same after the envelope crossed a socket.
func compact(value any) string {
	data, err := json.Marshal(value)
	if err == nil {
		var plain any
		if err = json.Unmarshal(data, &plain); err == nil {
			var b strings.Builder
			encoder := json.NewEncoder(&b)
			encoder.SetEscapeHTML(false)
			err = encoder.Encode(plain)
			if err == nil {
				return strings.TrimSuffix(b.String(), "\n")
			}
		}
	}
	return err.Error()
}

// words reads a list of strings, as it was made or as it came back from JSON.
func words(value any) []string {
	switch list := value.(type) {
	case []string:
		return list
	case []any:
		var out []string
		for _, v := range list {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// oneLine makes text Visible and keeps it on one line.
func oneLine(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(Visible(s), "\n", `\n`), "\t", " ")
}
