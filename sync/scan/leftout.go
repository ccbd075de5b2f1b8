package scan

import (
	"bytes"
	"path"
	"strings"
)

// sniffBytes is how many first bytes decide whether a file is binary, as in git.
const sniffBytes = 8000

// isBinary reports whether the first bytes hold a NUL or begin with the mark of UTF-16 or
// UTF-32, which are not searched.
func isBinary(data []byte) bool {
	return bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) || bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0
}

const (
	// minifiedLine is the length of a line that no person reads.
	minifiedLine = 64 << 10
	// minifiedSize and minifiedAverage are the size and the average line from which a file
	// of the web's languages counts as minified.
	minifiedSize    = 64 << 10
	minifiedAverage = 500
)

// isMinified reports whether a text was written by a machine for a machine: it has a line
// of more than 64 KiB, or is a .js, .mjs, .cjs, .css, .html, .htm, .svg, .json or .map of
// more than 64 KiB whose lines are longer than 500 bytes on average.
func isMinified(name string, data []byte) bool {
	if len(data) <= minifiedLine && len(data) <= minifiedSize {
		return false
	}
	lines := bytes.Count(data, []byte{'\n'}) + 1
	switch strings.ToLower(path.Ext(name)) {
	case ".js", ".mjs", ".cjs", ".css", ".html", ".htm", ".svg", ".json", ".map":
		if len(data)/lines > minifiedAverage {
			return true
		}
	}
	for rest := data; len(rest) > minifiedLine; {
		end := bytes.LastIndexByte(rest[:minifiedLine+1], '\n')
		if end < 0 {
			return true
		}
		rest = rest[end+1:]
	}
	return false
}
