package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/freshet/freshet/sync/merkle"
)

// syntaxFormat is the first byte of an encoded syntax. A reader refuses any other.
const syntaxFormat = 1

// ErrBadSyntax is returned by DecodeSyntax for bytes that AppendSyntax cannot have written.
var ErrBadSyntax = errors.New("bad syntax encoding")

// The fewest bytes that one element takes, so that a decoder allocates no more than a
// small multiple of its input, whatever the counts in it claim.
const (
	minChunkBytes      = 5 + len(merkle.Hash{})
	minDefinitionBytes = 9
	minReferenceBytes  = 4
)

// AppendSyntax appends the binary form of s to dst and returns it. Equal syntaxes have
// equal bytes: integers are varints, spans and lines are differences to what came before,
// and every string stands once in a table, in the order of its first use. The values of a
// field stand one after another, which compresses better than one element after another.
// A nil slice and an empty one are the same.
func AppendSyntax(dst []byte, s Syntax) []byte {
	e := syntaxEncoder{index: map[string]uint64{}}
	e.string(string(s.Cut))
	e.chunks(s.Chunks)
	e.definitions(s.Definitions)
	e.references(s.References)
	return e.appendTo(dst)
}

func (e *syntaxEncoder) chunks(chunks []Chunk) {
	e.uint(uint64(len(chunks)))
	var end, line uint32
	for _, c := range chunks {
		e.diff(c.Start, end)
		end = c.End
	}
	for _, c := range chunks {
		e.diff(c.End, c.Start)
	}
	for _, c := range chunks {
		e.diff(c.StartLine, line)
		line = c.EndLine
	}
	for _, c := range chunks {
		e.diff(c.EndLine, c.StartLine)
	}
	for _, c := range chunks {
		e.string(c.Breadcrumb)
	}
	for _, c := range chunks {
		e.body = append(e.body, c.TextHash[:]...)
	}
}

func (e *syntaxEncoder) definitions(definitions []Definition) {
	e.uint(uint64(len(definitions)))
	var start, line uint32
	for _, d := range definitions {
		e.string(d.Name)
	}
	for _, d := range definitions {
		e.string(d.Kind)
	}
	for _, d := range definitions {
		e.string(d.Signature)
	}
	for _, d := range definitions {
		e.string(d.Doc)
	}
	for _, d := range definitions {
		e.diff(d.Start, start)
		start = d.Start
	}
	for _, d := range definitions {
		e.diff(d.End, d.Start)
	}
	for _, d := range definitions {
		e.diff(d.StartLine, line)
		line = d.StartLine
	}
	for _, d := range definitions {
		e.diff(d.EndLine, d.StartLine)
	}
	for i, d := range definitions {
		e.diff(uint32(d.Parent), uint32(i))
	}
}

func (e *syntaxEncoder) references(references []Reference) {
	e.uint(uint64(len(references)))
	var line, from uint32
	for _, r := range references {
		e.string(r.Name)
	}
	for _, r := range references {
		e.uint(uint64(r.Kind))
	}
	for _, r := range references {
		e.diff(r.Line, line)
		line = r.Line
	}
	for _, r := range references {
		e.diff(uint32(r.From), from)
		from = uint32(r.From)
	}
}

type syntaxEncoder struct {
	body    []byte
	strings []string
	index   map[string]uint64
}

func (e *syntaxEncoder) uint(v uint64) { e.body = binary.AppendUvarint(e.body, v) }

// diff writes how far v lies from the number before, modulo 2^32.
func (e *syntaxEncoder) diff(v, before uint32) {
	e.body = binary.AppendVarint(e.body, int64(int32(v-before)))
}

// string writes 0 for a string that was not there before, and else its number from 1.
func (e *syntaxEncoder) string(s string) {
	i := e.index[s]
	if i == 0 {
		e.strings = append(e.strings, s)
		e.index[s] = uint64(len(e.strings))
	}
	e.uint(i)
}

func (e *syntaxEncoder) appendTo(dst []byte) []byte {
	dst = append(dst, syntaxFormat)
	dst = binary.AppendUvarint(dst, uint64(len(e.strings)))
	for _, s := range e.strings {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
	}
	for _, s := range e.strings {
		dst = append(dst, s...)
	}
	return append(dst, e.body...)
}

// DecodeSyntax reads what AppendSyntax wrote. It never panics and allocates at most a
// small multiple of len(data); it returns ErrBadSyntax for anything else, bytes that
// follow a syntax included. The result shares no memory with data.
func DecodeSyntax(data []byte) (Syntax, error) {
	d := syntaxDecoder{rest: data}
	s := d.syntax()
	if d.err == nil && len(d.rest) > 0 {
		d.fail("bytes after the end")
	}
	if d.err != nil {
		return Syntax{}, d.err
	}
	return s, nil
}

// syntaxDecoder reads from the front of rest. After the first error every read gives zero.
type syntaxDecoder struct {
	rest    []byte
	strings []string
	used    int // strings that were used so far
	err     error
}

func (d *syntaxDecoder) syntax() Syntax {
	d.table()
	s := Syntax{Cut: Cut(d.string())}
	if n := d.count(minChunkBytes); n > 0 {
		s.Chunks = make([]Chunk, n)
		d.chunks(s.Chunks)
	}
	if n := d.count(minDefinitionBytes); n > 0 {
		s.Definitions = make([]Definition, n)
		d.definitions(s.Definitions)
	}
	if n := d.count(minReferenceBytes); n > 0 {
		s.References = make([]Reference, n)
		d.references(s.References)
	}
	return s
}

// table reads the version and the strings.
func (d *syntaxDecoder) table() {
	if len(d.rest) == 0 || d.rest[0] != syntaxFormat {
		d.fail("unknown version")
		return
	}
	d.rest = d.rest[1:]
	lengths := make([]int, d.count(1))
	total := 0
	for i := range lengths {
		n := d.uint()
		if n > uint64(len(d.rest)) {
			d.fail("string longer than the input")
			return
		}
		lengths[i] = int(n)
		total += int(n)
		if total > len(d.rest) {
			d.fail("strings longer than the input")
			return
		}
	}
	if d.err != nil {
		return
	}
	text := string(d.rest[:total])
	d.rest = d.rest[total:]
	d.strings = make([]string, len(lengths))
	for i, n := range lengths {
		d.strings[i], text = text[:n], text[n:]
	}
}

func (d *syntaxDecoder) chunks(chunks []Chunk) {
	for i := range chunks {
		chunks[i].Start = d.diff(0) // after the chunk before, which has no end yet
	}
	var end, line uint32
	for i := range chunks {
		c := &chunks[i]
		c.Start += end
		c.End = d.diff(c.Start)
		end = c.End
	}
	for i := range chunks {
		chunks[i].StartLine = d.diff(0)
	}
	for i := range chunks {
		c := &chunks[i]
		c.StartLine += line
		c.EndLine = d.diff(c.StartLine)
		line = c.EndLine
	}
	for i := range chunks {
		chunks[i].Breadcrumb = d.string()
	}
	for i := range chunks {
		if len(d.rest) < len(merkle.Hash{}) {
			d.fail("short hash")
			return
		}
		d.rest = d.rest[copy(chunks[i].TextHash[:], d.rest):]
	}
}

func (d *syntaxDecoder) definitions(definitions []Definition) {
	var start, line uint32
	for i := range definitions {
		definitions[i].Name = d.string()
	}
	for i := range definitions {
		definitions[i].Kind = d.string()
	}
	for i := range definitions {
		definitions[i].Signature = d.string()
	}
	for i := range definitions {
		definitions[i].Doc = d.string()
	}
	for i := range definitions {
		start = d.diff(start)
		definitions[i].Start = start
	}
	for i := range definitions {
		definitions[i].End = d.diff(definitions[i].Start)
	}
	for i := range definitions {
		line = d.diff(line)
		definitions[i].StartLine = line
	}
	for i := range definitions {
		definitions[i].EndLine = d.diff(definitions[i].StartLine)
	}
	for i := range definitions {
		definitions[i].Parent = int32(d.diff(uint32(i)))
	}
}

func (d *syntaxDecoder) references(references []Reference) {
	var line, from uint32
	for i := range references {
		references[i].Name = d.string()
	}
	for i := range references {
		kind := d.uint()
		if kind > math.MaxUint8 {
			d.fail("reference kind out of range")
		}
		references[i].Kind = ReferenceKind(kind)
	}
	for i := range references {
		line = d.diff(line)
		references[i].Line = line
	}
	for i := range references {
		from = d.diff(from)
		references[i].From = int32(from)
	}
}

func (d *syntaxDecoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("decode syntax: %w: %s", ErrBadSyntax, what)
	}
	d.rest = nil
}

func (d *syntaxDecoder) uint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail("bad number")
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads a number of elements that take at least size bytes each.
func (d *syntaxDecoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.rest)/size) {
		d.fail("count larger than the input")
		return 0
	}
	return int(n)
}

// diff reads a number that lies a difference away from the one before.
func (d *syntaxDecoder) diff(before uint32) uint32 {
	v, n := binary.Varint(d.rest)
	if n <= 0 || v < math.MinInt32 || v > math.MaxInt32 {
		d.fail("bad difference")
		return 0
	}
	d.rest = d.rest[n:]
	return before + uint32(v)
}

func (d *syntaxDecoder) string() string {
	i := d.uint()
	if i == 0 {
		d.used++
		i = uint64(d.used)
	}
	if i > uint64(len(d.strings)) {
		d.fail("no such string")
		return ""
	}
	return d.strings[i-1]
}
