package segment

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
	"github.com/freshet/freshet/sync/merkle"
)

const testDimension = 70 // more than one word of sign bits, and not a whole number of them

// drawFile makes a file of a few chunks of a few words.
func drawFile(t *rapid.T, ordinal int) File {
	word := rapid.SampledFrom([]string{"batch", "pushLog", "x", "HTTPServer", "err_no", "größe", "日本"})
	path := fmt.Sprintf("dir%d/%s%d.go", ordinal%3, word.Draw(t, "name"), ordinal)
	f := File{Entry: store.FileEntry{Path: path, Language: rapid.SampledFrom([]string{"", "Go", "C"}).Draw(t, "language"),
		Flags: store.FileFlags(rapid.IntRange(0, 15).Draw(t, "flags"))}, Vectors: map[merkle.Hash]store.Vector{}}
	f.Syntax.Cut = rapid.SampledFrom(cuts[1:]).Draw(t, "cut")
	line := uint32(1)
	for range rapid.IntRange(0, 4).Draw(t, "chunks") {
		text := strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "words"), " ") + "\n"
		c := store.Chunk{Start: uint32(len(f.Content)), StartLine: line, EndLine: line,
			Breadcrumb: rapid.SampledFrom([]string{"", "class Server"}).Draw(t, "crumb")}
		f.Content = append(f.Content, text...)
		c.End = uint32(len(f.Content))
		c.TextHash = sha256.Sum256([]byte(store.EmbedText(c.Breadcrumb, []byte(text))))
		if rapid.Bool().Draw(t, "has vector") {
			f.Vectors[c.TextHash] = drawVector(t)
		}
		f.Syntax.Chunks = append(f.Syntax.Chunks, c)
		line++
	}
	if len(f.Syntax.Chunks) > 0 {
		for i := range rapid.IntRange(0, 3).Draw(t, "definitions") {
			f.Syntax.Definitions = append(f.Syntax.Definitions, store.Definition{
				Name: word.Draw(t, "definition"), Kind: rapid.SampledFrom([]string{"function", "class"}).Draw(t, "kind"),
				Signature: "func f()", Doc: strings.Repeat("doc ", i), StartLine: 1, EndLine: line,
				Start: uint32(rapid.IntRange(0, len(f.Content)-1).Draw(t, "start")), End: uint32(len(f.Content)),
				Parent: int32(rapid.IntRange(-1, i-1).Draw(t, "parent")),
			})
		}
	}
	f.Entry.Size, f.Entry.Content = int64(len(f.Content)), sha256.Sum256(f.Content)
	return f
}

func drawVector(t *rapid.T) store.Vector {
	v := store.Vector{Scale: 0.001, Data: make([]int8, testDimension)}
	for i := range v.Data {
		v.Data[i] = int8(rapid.IntRange(-127, 127).Draw(t, "component"))
	}
	return v
}

func build(t interface {
	Fatalf(string, ...any)
}, files []File, options Options) []byte {
	b := NewBuilder(options)
	for _, f := range files {
		if err := b.Add(f); err != nil {
			t.Fatalf("add: %v", err)
		}
	}
	data, err := b.Finish()
	if err != nil {
		t.Fatalf("finish: %v", err)
	}
	return data
}

func TestSegmentHoldsWhatWasAdded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var files []File
		for i := range rapid.IntRange(0, 6).Draw(t, "files") {
			files = append(files, drawFile(t, i))
		}
		data := build(t, files, Options{Dimension: testDimension})
		if again := build(t, files, Options{Dimension: testDimension}); !bytes.Equal(data, again) {
			t.Fatalf("the same files give other bytes")
		}
		s, err := Open(data)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		chunk := 0
		for i, f := range files {
			chunk = checkFile(t, s, i, f, chunk)
		}
		if s.Files() != len(files) || s.Chunks() != chunk {
			t.Fatalf("%d files, %d chunks, want %d, %d", s.Files(), s.Chunks(), len(files), chunk)
		}
		checkTerms(t, s, files)
		checkNames(t, s)
	})
}

func checkFile(t *rapid.T, s *Segment, i int, f File, first int) (next int) {
	info := s.File(i)
	want := FileInfo{Entry: f.Entry, Cut: f.Syntax.Cut, Digest: EntryDigest(f, false), FirstChunk: first,
		Chunks: len(f.Syntax.Chunks), FirstDefinition: info.FirstDefinition, Definitions: len(f.Syntax.Definitions),
		PathTokens: len(lexical.PathTokens(f.Entry.Path))}
	for j, c := range f.Syntax.Chunks {
		kept := c
		kept.TextHash = merkle.Hash{}
		if diff := cmp.Diff(kept, s.Chunk(first+j)); diff != "" {
			t.Fatalf("chunk %d (-want +got):\n%s", j, diff)
		}
		want.BodyTokens += uint64(len(lexical.Words(c.Breadcrumb + " " + string(f.Content[c.Start:c.End]))))
		v, has := f.Vectors[c.TextHash]
		if s.HasVector(first+j) != (has && slices.ContainsFunc(v.Data, func(x int8) bool { return x != 0 })) {
			t.Fatalf("chunk %d has a vector: %v", j, s.HasVector(first+j))
		}
	}
	for j, d := range f.Syntax.Definitions {
		kept := store.Definition{Name: d.Name, Kind: d.Kind, StartLine: d.StartLine, EndLine: d.StartLine, Parent: d.Parent}
		if diff := cmp.Diff(kept, s.Definition(info.FirstDefinition+j)); diff != "" {
			t.Fatalf("definition %d (-want +got):\n%s", j, diff)
		}
		want.NameTokens += uint64(len(lexical.Words(d.Name)))
		at := s.Chunk(s.DefinitionChunk(info.FirstDefinition + j))
		if d.Start < at.Start || d.Start >= at.End {
			t.Fatalf("definition at %d is put in chunk [%d,%d)", d.Start, at.Start, at.End)
		}
	}
	if diff := cmp.Diff(want, info, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("file %d (-want +got):\n%s", i, diff)
	}
	return first + len(f.Syntax.Chunks)
}

// checkTerms compares the postings with counts made by maps.
func checkTerms(t *rapid.T, s *Segment, files []File) {
	type place struct {
		field   string
		ordinal uint32
	}
	want := map[string]map[place]uint32{}
	count := func(text, field string, ordinal int) {
		for _, w := range lexical.Words(text) {
			if want[w] == nil {
				want[w] = map[place]uint32{}
			}
			want[w][place{field, uint32(ordinal)}]++
		}
	}
	chunk, definition := 0, 0
	for i, f := range files {
		count(f.Entry.Path, "path", i)
		for _, c := range f.Syntax.Chunks {
			count(c.Breadcrumb, "body", chunk)
			count(string(f.Content[c.Start:c.End]), "body", chunk)
			chunk++
		}
		for _, d := range f.Syntax.Definitions {
			count(d.Name, "names", definition)
			definition++
		}
	}
	want["absent"] = map[place]uint32{}
	for word, counts := range want {
		got := map[place]uint32{}
		term := s.Lookup(word)
		for field, list := range map[string]Postings{"body": term.Body, "path": term.Path, "names": term.Names} {
			for ordinal, n, ok := list.Next(); ok; ordinal, n, ok = list.Next() {
				got[place{field, ordinal}] = n
			}
		}
		if diff := cmp.Diff(counts, got, cmp.AllowUnexported(place{})); diff != "" {
			t.Fatalf("postings of %q (-want +got):\n%s", word, diff)
		}
	}
	if s.Terms() != len(want)-1 {
		t.Fatalf("%d terms, want %d", s.Terms(), len(want)-1)
	}
}

func checkNames(t *rapid.T, s *Segment) {
	var names []string
	for i := range s.Definitions() {
		names = append(names, strings.ToLower(string(s.DefinitionName(s.ByName(i)))))
	}
	if !sort.StringsAreSorted(names) {
		t.Fatalf("names are not in order: %q", names)
	}
}

func TestVectorIsCombinedWithThePath(t *testing.T) {
	t.Parallel()
	chunk := store.Vector{Scale: 1. / 127, Data: []int8{127, 0, 0, 0}}
	f := File{Entry: store.FileEntry{Path: "a"}, Content: []byte("x"), PathVector: []float32{0, 1, 0, 0},
		Syntax:  store.Syntax{Chunks: []store.Chunk{{End: 1, StartLine: 1, EndLine: 1}}},
		Vectors: map[merkle.Hash]store.Vector{{}: chunk}}
	s, err := Open(build(t, []File{f}, Options{Dimension: 4}))
	if err != nil {
		t.Fatal(err)
	}
	row, scale := s.Vector(0)
	want := []float64{1 / math.Sqrt(1+PathWeight*PathWeight), PathWeight / math.Sqrt(1+PathWeight*PathWeight), 0, 0}
	for i, x := range want {
		if got := float64(int8(row[i])) * float64(scale); math.Abs(got-x) > 0.005 {
			t.Errorf("component %d is %v, want %v", i, got, x)
		}
	}
	if dot := s.Dot([]int16{2, 0, 0, 0}, 0); dot != 2*127 {
		t.Errorf("dot is %d, want %d", dot, 2*127)
	}
	distances := make([]uint16, 1)
	s.Distances(distances, Signs([]float32{1, -1, -1, 1}))
	if distances[0] != 2 {
		t.Errorf("distance is %d, want 2", distances[0])
	}
}

func TestAddRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	hash := merkle.Hash{1}
	one := []store.Chunk{{End: 3, TextHash: hash}}
	cases := []struct {
		name string
		file File
		want string
	}{
		{"span beyond the content", File{Syntax: store.Syntax{Chunks: []store.Chunk{{End: 4}}}}, "has span"},
		{"chunks that overlap", File{Syntax: store.Syntax{Chunks: []store.Chunk{{End: 2}, {Start: 1, End: 3}}}}, "has span"},
		{"vector of another dimension", File{Syntax: store.Syntax{Chunks: one},
			Vectors: map[merkle.Hash]store.Vector{hash: {Scale: 1, Data: []int8{1}}}}, "dimension 1, want 4"},
		{"path vector of another dimension", File{PathVector: []float32{1}}, "dimension 1, want 4"},
		{"definition without a chunk", File{Syntax: store.Syntax{Definitions: []store.Definition{{Parent: -1}}}}, "without a chunk"},
		{"parent beyond the definitions", File{Syntax: store.Syntax{Chunks: one,
			Definitions: []store.Definition{{Parent: 1}}}}, "has parent 1"},
	}
	empty := build(t, nil, Options{Dimension: 4})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := NewBuilder(Options{Dimension: 4})
			c.file.Content = []byte("abc")
			if err := b.Add(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
			data, err := b.Finish()
			if err != nil || !bytes.Equal(data, empty) {
				t.Errorf("a refused file left something behind (%v)", err)
			}
		})
	}
}

func TestEntryDigestCoversEveryPart(t *testing.T) {
	t.Parallel()
	hash := merkle.Hash{9}
	base := func() File {
		return File{Entry: store.FileEntry{Path: "a", Language: "Go"},
			Syntax: store.Syntax{Cut: store.CutGrammar, Chunks: []store.Chunk{{End: 3, TextHash: hash}},
				Definitions: []store.Definition{{Name: "f", Parent: -1}}},
			Vectors: map[merkle.Hash]store.Vector{hash: {Scale: 1, Data: []int8{1, 2}}}}
	}
	changes := map[string]func(*File){
		"path":       func(f *File) { f.Entry.Path = "b" },
		"content":    func(f *File) { f.Entry.Content[0] = 1 },
		"language":   func(f *File) { f.Entry.Language = "C" },
		"flags":      func(f *File) { f.Entry.Flags = store.FlagTest },
		"cut":        func(f *File) { f.Syntax.Cut = store.CutLines },
		"span":       func(f *File) { f.Syntax.Chunks[0].End = 2 },
		"breadcrumb": func(f *File) { f.Syntax.Chunks[0].Breadcrumb = "x" },
		"text hash":  func(f *File) { f.Syntax.Chunks[0].TextHash[1] = 1 },
		"comment":    func(f *File) { f.Syntax.Definitions[0].Doc = "x" },
		"signature":  func(f *File) { f.Syntax.Definitions[0].Signature = "x" },
		"end":        func(f *File) { f.Syntax.Definitions[0].End = 2 },
		"parent":     func(f *File) { f.Syntax.Definitions[0].Parent = 0 },
		"vector":     func(f *File) { f.Vectors[hash] = store.Vector{Scale: 1, Data: []int8{1, 3}} },
		"no vector":  func(f *File) { f.Vectors = nil },
	}
	seen := map[merkle.Hash]string{EntryDigest(base(), false): "unchanged", EntryDigest(base(), true): "by key"}
	for name, change := range changes {
		f := base()
		change(&f)
		digest := EntryDigest(f, false)
		if other, ok := seen[digest]; ok {
			t.Errorf("changed %s gives the digest of %s", name, other)
		}
		seen[digest] = name
	}
	other := base()
	other.Vectors[hash] = store.Vector{Scale: 2, Data: []int8{5, 5}}
	if EntryDigest(other, true) != EntryDigest(base(), true) {
		t.Error("by key, the value of a vector changes the digest")
	}
}

func TestOpenRefusesDamage(t *testing.T) {
	t.Parallel()
	data := build(t, nil, Options{})
	for name, damaged := range map[string][]byte{
		"empty": nil, "cut": data[:40], "magic": append([]byte("x"), data[1:]...),
		"version": append(append(bytes.Clone(data[:8]), 99), data[9:]...),
	} {
		if _, err := Open(damaged); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error is %v, want ErrCorrupt", name, err)
		}
	}
}
