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
// and every string stands once in a table, in the order of its first use. A nil slice and
// an empty one are the same.
func AppendSyntax(dst []byte, s Syntax) []byte {
	e := syntaxEncoder{index: map[string]uint64{}}
	e.string(string(s.Cut))
	e.uint(uint64(len(s.Chunks)))
	var end, line uint32
	for _, c := range s.Chunks {
		e.diff(c.Start, end)
		e.diff(c.End, c.Start)
		e.diff(c.StartLine, line)
		e.diff(c.EndLine, c.StartLine)
		e.string(c.Breadcrumb)
		e.body = append(e.body, c.TextHash[:]...)
		end, line = c.End, c.EndLine
	}
	e.uint(uint64(len(s.Definitions)))
	var start uint32
	line = 0
	for _, d := range s.Definitions {
		e.string(d.Name)
		e.string(d.Kind)
		e.string(d.Signature)
		e.string(d.Doc)
		e.diff(d.Start, start)
		e.diff(d.End, d.Start)
		e.diff(d.StartLine, line)
		e.diff(d.EndLine, d.StartLine)
		e.int(int64(d.Parent))
		start, line = d.Start, d.StartLine
	}
	e.uint(uint64(len(s.References)))
	line = 0
	from := int64(0)
	for _, r := range s.References {
		e.string(r.Name)
		e.uint(uint64(r.Kind))
		e.diff(r.Line, line)
		e.int(int64(r.From) - from)
		line, from = r.Line, int64(r.From)
	}
	return e.appendTo(dst)
}

type syntaxEncoder struct {
	body    []byte
	strings []string
	size    int
	index   map[string]uint64
}

func (e *syntaxEncoder) uint(v uint64) { e.body = binary.AppendUvarint(e.body, v) }
func (e *syntaxEncoder) int(v int64)   { e.body = binary.AppendVarint(e.body, v) }

func (e *syntaxEncoder) diff(v, before uint32) { e.int(int64(v) - int64(before)) }

func (e *syntaxEncoder) string(s string) {
	i, ok := e.index[s]
	if !ok {
		i = uint64(len(e.strings))
		e.index[s] = i
		e.strings = append(e.strings, s)
		e.size += len(s)
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
	var end, line uint32
	for i := range chunks {
		c := &chunks[i]
		c.Start = d.diff(end)
		c.End = d.diff(c.Start)
		c.StartLine = d.diff(line)
		c.EndLine = d.diff(c.StartLine)
		c.Breadcrumb = d.string()
		if len(d.rest) < len(c.TextHash) {
			d.fail("short hash")
			return
		}
		d.rest = d.rest[copy(c.TextHash[:], d.rest):]
		end, line = c.End, c.EndLine
	}
}

func (d *syntaxDecoder) definitions(definitions []Definition) {
	var start, line uint32
	for i := range definitions {
		f := &definitions[i]
		f.Name = d.string()
		f.Kind = d.string()
		f.Signature = d.string()
		f.Doc = d.string()
		f.Start = d.diff(start)
		f.End = d.diff(f.Start)
		f.StartLine = d.diff(line)
		f.EndLine = d.diff(f.StartLine)
		f.Parent = d.int32(0)
		start, line = f.Start, f.StartLine
		if d.err != nil {
			return
		}
	}
}

func (d *syntaxDecoder) references(references []Reference) {
	var line uint32
	var from int32
	for i := range references {
		r := &references[i]
		r.Name = d.string()
		kind := d.uint()
		if kind > math.MaxUint8 {
			d.fail("reference kind out of range")
		}
		r.Kind = ReferenceKind(kind)
		r.Line = d.diff(line)
		r.From = d.int32(int64(from))
		line, from = r.Line, r.From
		if d.err != nil {
			return
		}
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

func (d *syntaxDecoder) int() int64 {
	v, n := binary.Varint(d.rest)
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

func (d *syntaxDecoder) diff(before uint32) uint32 {
	v := d.int()
	if v < -int64(before) || v > math.MaxUint32-int64(before) {
		d.fail("position out of range")
		return 0
	}
	return uint32(int64(before) + v)
}

func (d *syntaxDecoder) int32(before int64) int32 {
	v := d.int()
	if v < math.MinInt32-before || v > math.MaxInt32-before {
		d.fail("index out of range")
		return 0
	}
	return int32(before + v)
}

func (d *syntaxDecoder) string() string {
	i := d.uint()
	if i >= uint64(len(d.strings)) {
		d.fail("no such string")
		return ""
	}
	return d.strings[i]
}
