package segment

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// File is all that a segment is told of one file.
type File struct {
	Entry  store.FileEntry
	Syntax store.Syntax
	// Content is the bytes of the file, in which the spans of Syntax lie.
	Content []byte
	// Vectors holds the vectors of chunks by their text hash; some or all may be missing.
	Vectors map[merkle.Hash]store.Vector
	// PathVector is the unit vector of the path, or nil.
	PathVector []float32
}

// EntryDigest is the digest of everything that an index holds of a file: path, content,
// language, flags, how it was cut, the spans and hashes of its chunks, its definitions and
// its vectors. With byKey a vector counts by its key only: remote vectors are not
// reproducible. Equal digests prove equal entries. Content and PathVector do not count:
// both follow from the rest.
func EntryDigest(f File, byKey bool) merkle.Hash {
	d := digester{hash: sha256.New()}
	d.string("freshet entry 1")
	d.string(f.Entry.Path)
	d.bytes(f.Entry.Content[:])
	d.string(f.Entry.Language)
	d.number(uint64(f.Entry.Flags))
	d.string(string(f.Syntax.Cut))
	d.number(uint64(len(f.Syntax.Chunks)))
	for _, c := range f.Syntax.Chunks {
		d.numbers(c.Start, c.End, c.StartLine, c.EndLine)
		d.string(c.Breadcrumb)
		d.bytes(c.TextHash[:])
		d.vector(f.Vectors[c.TextHash], byKey)
	}
	d.number(uint64(len(f.Syntax.Definitions)))
	for _, def := range f.Syntax.Definitions {
		d.string(def.Name)
		d.string(def.Kind)
		d.string(def.Signature)
		d.string(def.Doc)
		d.numbers(def.Start, def.End, def.StartLine, def.EndLine, uint32(def.Parent))
	}
	return merkle.Hash(d.hash.Sum(nil))
}

// digester writes values with their lengths, so that no two sequences look the same.
type digester struct {
	hash hash.Hash
	buf  []byte
}

func (d *digester) number(v uint64) {
	d.buf = binary.BigEndian.AppendUint64(d.buf[:0], v)
	d.hash.Write(d.buf)
}

func (d *digester) numbers(values ...uint32) {
	for _, v := range values {
		d.number(uint64(v))
	}
}

func (d *digester) bytes(b []byte) {
	d.number(uint64(len(b)))
	d.hash.Write(b)
}

func (d *digester) string(s string) {
	d.number(uint64(len(s)))
	d.buf = append(d.buf[:0], s...)
	d.hash.Write(d.buf)
}

func (d *digester) vector(v store.Vector, byKey bool) {
	if len(v.Data) == 0 || byKey {
		d.number(uint64(min(1, len(v.Data))))
		return
	}
	d.number(uint64(len(v.Data)))
	d.number(uint64(math.Float32bits(v.Scale)))
	d.buf = d.buf[:0]
	for _, x := range v.Data {
		d.buf = append(d.buf, byte(x))
	}
	d.hash.Write(d.buf)
}
