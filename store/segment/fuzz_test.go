package segment

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// sample is a small segment with something in every section.
func sample(f *testing.F) []byte {
	b := NewBuilder(Options{Dimension: 8})
	for _, path := range []string{"a/server.go", "b/client.go"} {
		text := []byte("func serve(path string) error {\n\treturn serve(path)\n}\n")
		hash := merkle.Hash(sha256.Sum256(text))
		err := b.Add(File{Entry: store.FileEntry{Path: path, Language: "Go"}, Content: text,
			Syntax: store.Syntax{Cut: store.CutGrammar,
				Chunks: []store.Chunk{{End: uint32(len(text)), StartLine: 1, EndLine: 3, Breadcrumb: "x", TextHash: hash}},
				Definitions: []store.Definition{{Name: "serve", Kind: "function", Signature: "func serve", Doc: "d",
					StartLine: 1, EndLine: 3, Parent: -1}}},
			Vectors: map[merkle.Hash]store.Vector{hash: {Scale: 0.01, Data: []int8{1, -2, 3, -4, 5, -6, 7, 8}}}})
		if err != nil {
			f.Fatal(err)
		}
	}
	data, err := b.Finish()
	if err != nil {
		f.Fatal(err)
	}
	return data
}

// FuzzOpen writes a number somewhere into a good blob and uses all that Open lets pass.
func FuzzOpen(f *testing.F) {
	good := sample(f)
	for at := 0; at < len(good); at += 4 {
		f.Add(uint16(at), uint32(0xffffffff), uint16(0xffff))
		f.Add(uint16(at), uint32(1), uint16(0xffff))
	}
	f.Fuzz(func(t *testing.T, at uint16, value uint32, length uint16) {
		data := append([]byte(nil), good...)
		binary.LittleEndian.PutUint32(data[int(at)%(len(data)-4):], value)
		data = data[:min(len(data), int(length))]
		s, err := Open(data)
		if err != nil {
			return
		}
		use(s)
	})
}

func use(s *Segment) {
	for i := range s.Files() {
		s.File(i)
	}
	for i := range s.Chunks() {
		s.Chunk(i)
		s.HasVector(i)
		s.Dot(make([]int16, s.Dimension()), i)
	}
	for i := range s.Definitions() {
		s.Definition(i)
		s.DefinitionParent(s.ByName(i))
		s.Lookup(string(s.DefinitionName(i)))
	}
	s.Distances(make([]uint16, s.Chunks()), make([]uint64, signWords(s.Dimension())))
	for i := range s.Terms() {
		term := s.Lookup(string(s.term(i)))
		for _, list := range []Postings{term.Body, term.Names, term.Path} {
			for _, _, ok := list.Next(); ok; _, _, ok = list.Next() {
			}
		}
	}
}
