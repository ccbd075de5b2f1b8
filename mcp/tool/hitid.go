package tool

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/freshet/freshet/store/search"
	"github.com/freshet/freshet/sync/merkle"
)

// The lengths of the parts of a hit's id, and what it begins with.
const (
	idPath    = 5
	idContent = 3
	idOwn     = 2
	idPrefix  = "h"
)

// hitID is the id of a hit as answers give it: digests of its path and content, which tell
// the file when it is read again, two bytes of the digest that package search makes of the
// whole hit, and its lines. It depends on nothing else, so equal snapshots give equal ids.
func hitID(found search.Hit) string {
	path, own := sha256.Sum256([]byte(found.Path)), sha256.Sum256([]byte(found.ID))
	data := append([]byte{}, path[:idPath]...)
	data = append(data, found.Content[:idContent]...)
	data = append(data, own[:idOwn]...)
	data = binary.AppendUvarint(data, uint64(found.StartLine))
	data = binary.AppendUvarint(data, uint64(found.EndLine-found.StartLine))
	return idPrefix + base64.RawURLEncoding.EncodeToString(data)
}

// placed is what an id tells of its hit.
type placed struct {
	path       [idPath]byte
	content    [idContent]byte
	start, end int
}

// parseID reads an id back; ok is false for a word that cannot be one.
func parseID(word string) (at placed, ok bool) {
	encoded, ok := strings.CutPrefix(word, idPrefix)
	if !ok {
		return at, false
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(data) < idPath+idContent+idOwn+2 {
		return at, false
	}
	copy(at.path[:], data)
	copy(at.content[:], data[idPath:])
	data = data[idPath+idContent+idOwn:]
	start, size := binary.Uvarint(data)
	if size <= 0 || start == 0 || start > 1<<31 {
		return at, false
	}
	more, rest := binary.Uvarint(data[size:])
	if rest <= 0 || size+rest != len(data) || more > 1<<31 {
		return at, false
	}
	at.start, at.end = int(start), int(start+more)
	return at, true
}

func (p placed) isPath(path string) bool {
	sum := sha256.Sum256([]byte(path))
	return [idPath]byte(sum[:idPath]) == p.path
}

func (p placed) isContent(content merkle.Hash) bool {
	return [idContent]byte(content[:idContent]) == p.content
}
