package merkle

import (
	"crypto/sha256"
	"encoding/binary"
)

// label begins the encoding of every directory, so that no file's bytes hash like one and
// another encoding can be told from this.
const label = "freshet tree 1\x00"

// The kinds of an entry in the encoding.
const (
	kindFile = 'f'
	kindDir  = 'd'
)

// hashEntries digests the canonical encoding of a directory: the label, and for each entry
// in order its kind, the length of its name in four bytes (big endian), its name, and the
// hash of its content or of the directory. xxHash64 is left out: it proves nothing.
func hashEntries(entries []entry) Hash {
	size := len(label)
	for i := range entries {
		size += 1 + 4 + len(entries[i].name) + len(Hash{})
	}
	buf := make([]byte, 0, size)
	buf = append(buf, label...)
	for i := range entries {
		e := &entries[i]
		kind, child := byte(kindFile), &e.leaf.Content
		if e.sub != nil {
			kind, child = kindDir, &e.sub.hash
		}
		buf = append(buf, kind)
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(e.name)))
		buf = append(buf, e.name...)
		buf = append(buf, child[:]...)
	}
	return sha256.Sum256(buf)
}
