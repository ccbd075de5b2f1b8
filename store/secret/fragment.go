package secret

import "bytes"

// MaskFragment is MaskText for a text that may be a part of a file only: lines of a private
// key whose head stands in another part are covered too. What it takes for such lines are
// three or more of base64 in a row that no head of another kind stands before.
func MaskFragment(text string) (string, []Span) {
	data := []byte(text)
	spans := append(Find(data), keyParts(data)...)
	if len(spans) == 0 {
		return text, nil
	}
	spans = merge(spans)
	for _, s := range spans {
		cover(data[s.Start:s.End], s.Rule)
	}
	return string(data), spans
}

// Bounds of a line of a key: those of PEM and of PGP have 64 or 76 letters.
const (
	leastLine  = 60
	leastLines = 3
)

// keyParts finds lines of base64 in a row. Before the foot of a private key one is enough.
func keyParts(data []byte) []Span {
	var spans []Span
	from, lines, headed := 0, 0, false
	end := func(to, least int) {
		if lines >= least && !headed {
			spans = append(spans, Span{from, to, "private-key"})
		}
		lines = 0
	}
	for at := 0; at < len(data); {
		line := data[at:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n+1]
		}
		trimmed := bytes.Trim(line, " \t\r\n\"'+,")
		plain := len(trimmed) > 0 && len(trimmed) <= 80 && base64.run(trimmed, 0, 0) == len(trimmed)
		switch {
		case plain && len(trimmed) >= leastLine && entropy(trimmed) > 4:
			if lines == 0 {
				from = at
			}
			lines++
		case plain && lines > 0: // the last line is shorter
		case bytes.Contains(line, []byte("-----END")) && bytes.Contains(line, []byte("PRIVATE KEY")):
			end(at, 1)
		default:
			end(at, leastLines)
			headed = bytes.Contains(line, []byte("-----BEGIN")) && !bytes.Contains(line, []byte("PRIVATE"))
		}
		at += len(line)
	}
	end(len(data), leastLines)
	return spans
}
