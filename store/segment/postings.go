package segment

import "encoding/binary"

// list is a growing posting list: for each ordinal, in ascending order, the distance to
// the one before and, when it is not 1, the frequency.
type list struct {
	next uint32 // the last ordinal + 1
	data []byte
}

func (l *list) add(ordinal, frequency uint32) {
	gap := uint64(ordinal-l.next) << 1
	l.next = ordinal + 1
	if frequency == 1 {
		l.data = binary.AppendUvarint(l.data, gap)
		return
	}
	l.data = binary.AppendUvarint(l.data, gap|1)
	l.data = binary.AppendUvarint(l.data, uint64(frequency))
}

// Postings iterates over one list of a term: ordinals in ascending order with the term's
// frequency in each. The zero value is an empty list. A damaged list ends early.
type Postings struct {
	data  []byte
	next  uint64
	limit uint64
}

// Next returns the next ordinal and frequency, and false at the end.
func (p *Postings) Next() (ordinal, frequency uint32, ok bool) {
	gap, ok := p.uvarint()
	if !ok {
		return 0, 0, false
	}
	frequency = 1
	if gap&1 != 0 {
		f, ok := p.uvarint()
		if !ok || f > 1<<31 {
			return p.damaged()
		}
		frequency = uint32(f)
	}
	gap >>= 1
	if gap >= p.limit-p.next {
		return p.damaged()
	}
	at := p.next + gap
	p.next = at + 1
	return uint32(at), frequency, true
}

func (p *Postings) damaged() (uint32, uint32, bool) {
	p.data = nil
	return 0, 0, false
}

func (p *Postings) uvarint() (uint64, bool) {
	if len(p.data) == 0 {
		return 0, false
	}
	if c := p.data[0]; c < 0x80 {
		p.data = p.data[1:]
		return uint64(c), true
	}
	v, n := binary.Uvarint(p.data)
	if n <= 0 {
		p.data = nil
		return 0, false
	}
	p.data = p.data[n:]
	return v, true
}

// Term is a term's lists by field.
type Term struct {
	// Body counts by chunk the words of the text and the breadcrumb, Names by definition
	// the words of the name, Path by file the words of the path.
	Body, Names, Path Postings
}

// appendTerm writes the lists of a term: the lengths of the path and the name lists, the
// two lists, and the body list to the end.
func appendTerm(dst []byte, body, path, names []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(path)))
	dst = binary.AppendUvarint(dst, uint64(len(names)))
	dst = append(dst, path...)
	dst = append(dst, names...)
	return append(dst, body...)
}

// parseTerm reverses appendTerm. Damage gives empty lists.
func parseTerm(data []byte, chunks, files, definitions int) Term {
	path, n := binary.Uvarint(data)
	if n <= 0 {
		return Term{}
	}
	names, m := binary.Uvarint(data[n:])
	if m <= 0 {
		return Term{}
	}
	data = data[n+m:]
	if size := uint64(len(data)); path > size || names > size-path {
		return Term{}
	}
	return Term{
		Path:  Postings{data: data[:path], limit: uint64(files)},
		Names: Postings{data: data[path : path+names], limit: uint64(definitions)},
		Body:  Postings{data: data[path+names:], limit: uint64(chunks)},
	}
}
