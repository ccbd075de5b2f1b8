package chunk

import "bytes"

// tabWidth is how many columns of indentation a tab counts for.
const tabWidth = 4

// lineIndex knows where the lines of a content begin. A line includes its line end; the
// last line may lack one. An empty content has no line.
type lineIndex struct {
	content []byte
	// starts[i] is the offset of line i (from 0); the last element is len(content).
	starts []uint32
	// indents[i] is the column of the first character that is not a blank, or -1 for a
	// line of blanks.
	indents []int16
}

func indexLines(content []byte) lineIndex {
	n := bytes.Count(content, []byte{'\n'})
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	l := lineIndex{content: content, starts: make([]uint32, 0, n+1), indents: make([]int16, 0, n)}
	for at := 0; at < len(content); {
		end := len(content)
		if i := bytes.IndexByte(content[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		l.starts = append(l.starts, uint32(at))
		l.indents = append(l.indents, indentOf(content[at:end]))
		at = end
	}
	l.starts = append(l.starts, uint32(len(content)))
	return l
}

// blanks are the characters that indent a line or end it.
const blanks = " \t\r\n\f\v"

// maxIndent bounds the columns that are counted.
const maxIndent = 1000

func indentOf(line []byte) int16 {
	column := int16(0)
	for _, c := range line {
		switch c {
		case ' ':
			column++
		case '\t':
			column += tabWidth
		case '\n', '\r', '\f', '\v':
		default:
			return column
		}
		column = min(column, maxIndent)
	}
	return -1
}

// count is the number of lines.
func (l lineIndex) count() int { return len(l.indents) }

// blank reports whether line i holds nothing but blanks.
func (l lineIndex) blank(i int) bool { return l.indents[i] < 0 }

// text is line i without its indentation and its line end. It is empty for a blank line
// only.
func (l lineIndex) text(i int) []byte {
	return bytes.Trim(l.content[l.starts[i]:l.starts[i+1]], blanks)
}

// size is the number of bytes of the lines [from, to).
func (l lineIndex) size(from, to int) int { return int(l.starts[to] - l.starts[from]) }

// at is the line that offset lies in; the end of the content lies in the last line.
func (l lineIndex) at(offset uint32) int {
	low, high := 0, len(l.starts)-1
	for high-low > 1 {
		if mid := int(uint(low+high) >> 1); l.starts[mid] <= offset {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// lastOf is the line of the last byte of the span [start, end).
func (l lineIndex) lastOf(start, end uint32) int {
	if end > start {
		end--
	}
	return l.at(end)
}
