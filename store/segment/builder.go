package segment

import (
	"encoding/binary"
	"fmt"
	"sort"
	"strings"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/store/lexical"
	"github.com/freshet/freshet/store/trigram"
)

// Options of a Builder.
type Options struct {
	// Dimension is that of the vectors, 0 for a segment without any.
	Dimension int
	// VectorsByKey makes entry digests count vectors by their keys; see EntryDigest.
	VectorsByKey bool
	// Trigrams indexes the trigrams of the contents, so that few of them are read for a
	// literal or a regular expression. A few files are read as fast without.
	Trigrams bool
}

// Builder collects files and makes a segment of them. The same files in the same order
// give the same bytes. It holds the postings, tables and vectors in memory, about half of
// the sources' size, and no contents. It must not be used from two goroutines at once.
type Builder struct {
	options Options
	head    header
	scanner lexical.Scanner

	terms  *interner
	body   []list // by term
	names  map[uint32]*list
	paths  map[uint32]*list
	counts []uint32 // by term, zero between uses
	seen   []uint32 // terms with a count

	files, chunks, definitions []byte
	strings                    *interner // paths, languages, kinds, names, breadcrumbs
	kinds                      map[string]uint32
	kindSpans                  []byte
	nameKeys                   []span // lower-cased names by definition, in lowered
	lowered                    []byte
	vectors                    vectors
	trigrams                   *trigram.Builder // nil without
}

// span is a place in a section of bytes.
type span struct{ offset, length uint32 }

// NewBuilder returns an empty builder.
func NewBuilder(options Options) *Builder {
	b := &Builder{
		options: options, head: header{dimension: uint32(options.Dimension)},
		terms: newInterner(), names: map[uint32]*list{}, paths: map[uint32]*list{},
		strings: newInterner(), kinds: map[string]uint32{},
		vectors: vectors{dimension: options.Dimension, sum: make([]float64, options.Dimension)},
	}
	if options.Trigrams {
		b.trigrams = trigram.NewBuilder()
	}
	return b
}

// Files returns the number of files added, which is the ordinal of the next.
func (b *Builder) Files() int { return int(b.head.files) }

// Chunks returns the number of chunks added.
func (b *Builder) Chunks() int { return int(b.head.chunks) }

// Add adds a file. It keeps nothing of f. A file whose spans or vectors do not fit is
// refused with an error, and the builder is as before.
func (b *Builder) Add(f File) error {
	if err := b.check(f); err != nil {
		return fmt.Errorf("add %s to segment: %w", f.Entry.Path, err)
	}
	firstChunk, firstDefinition := b.head.chunks, b.head.definitions
	bodyTokens := uint64(0)
	for _, chunk := range f.Syntax.Chunks {
		n := b.addBody(b.head.chunks, chunk.Breadcrumb, f.Content[chunk.Start:chunk.End])
		b.addChunk(chunk, n)
		if b.options.Dimension > 0 {
			b.vectors.add(f.Vectors[chunk.TextHash], f.PathVector)
		}
		bodyTokens += uint64(n)
	}
	nameTokens := b.addDefinitions(f.Syntax, firstChunk)
	pathTokens := b.count([]byte(f.Entry.Path))
	b.flush(func(term, n uint32) { grow(b.paths, term).add(b.head.files, n) })

	b.addTrigrams(f)

	digest := EntryDigest(f, b.options.VectorsByKey)
	path, language := b.intern(f.Entry.Path), b.intern(f.Entry.Language)
	b.files = appendNumbers(b.files, path.offset, path.length, language.offset, language.length,
		firstChunk, uint32(len(f.Syntax.Chunks)), firstDefinition, uint32(len(f.Syntax.Definitions)),
		pathTokens, uint32(f.Entry.Flags)|uint32(cutNumber(f.Syntax.Cut))<<8)
	b.files = binary.LittleEndian.AppendUint64(b.files, uint64(f.Entry.Size))
	b.files = binary.LittleEndian.AppendUint64(b.files, bodyTokens)
	b.files = binary.LittleEndian.AppendUint64(b.files, nameTokens)
	b.files = append(b.files, f.Entry.Content[:]...)
	b.files = append(b.files, digest[:]...)

	b.head.files++
	b.head.bodyTokens += bodyTokens
	b.head.nameTokens += nameTokens
	b.head.pathTokens += uint64(pathTokens) * uint64(len(f.Syntax.Chunks))
	return nil
}

func (b *Builder) check(f File) error {
	end := uint32(0)
	for i, c := range f.Syntax.Chunks {
		if c.Start < end || c.End < c.Start || uint64(c.End) > uint64(len(f.Content)) {
			return fmt.Errorf("chunk %d has span [%d,%d) after %d of %d bytes", i, c.Start, c.End, end, len(f.Content))
		}
		end = c.End
		if v, ok := f.Vectors[c.TextHash]; ok && len(v.Data) != 0 && len(v.Data) != b.options.Dimension && b.options.Dimension > 0 {
			return fmt.Errorf("chunk %d has a vector of dimension %d, want %d", i, len(v.Data), b.options.Dimension)
		}
	}
	if f.PathVector != nil && len(f.PathVector) != b.options.Dimension && b.options.Dimension > 0 {
		return fmt.Errorf("path vector has dimension %d, want %d", len(f.PathVector), b.options.Dimension)
	}
	if len(f.Syntax.Definitions) > 0 && len(f.Syntax.Chunks) == 0 {
		return fmt.Errorf("%d definitions without a chunk", len(f.Syntax.Definitions))
	}
	for i, d := range f.Syntax.Definitions {
		if len(d.Name) > maxName {
			return fmt.Errorf("definition %d has a name of %d bytes, at most %d", i, len(d.Name), maxName)
		}
		if d.Parent < -1 || int(d.Parent) >= len(f.Syntax.Definitions) || int(d.Parent) == i {
			return fmt.Errorf("definition %d has parent %d", i, d.Parent)
		}
	}
	return nil
}

// addTrigrams indexes the content of a file. A content that the store does not give is nil.
func (b *Builder) addTrigrams(f File) {
	switch {
	case b.trigrams == nil:
	case f.Content == nil && f.Entry.Size > 0:
		b.trigrams.AddUnread()
	default:
		b.trigrams.Add(f.Content)
	}
}

// addBody indexes the words of a chunk and returns how many there are.
func (b *Builder) addBody(chunk uint32, breadcrumb string, text []byte) uint32 {
	n := b.count([]byte(breadcrumb)) + b.count(text)
	b.flush(func(term, n uint32) { b.body[term].add(chunk, n) })
	return n
}

// count adds the words of a text to the counts.
func (b *Builder) count(text []byte) (n uint32) {
	for b.scanner.Reset(text); b.scanner.Next(); n++ {
		term := b.terms.intern(b.scanner.Token())
		if int(term) == len(b.counts) {
			b.counts = append(b.counts, 0)
			b.body = append(b.body, list{})
		}
		if b.counts[term] == 0 {
			b.seen = append(b.seen, term)
		}
		b.counts[term]++
	}
	return n
}

// flush hands out the counts and clears them.
func (b *Builder) flush(add func(term, n uint32)) {
	for _, term := range b.seen {
		add(term, b.counts[term])
		b.counts[term] = 0
	}
	b.seen = b.seen[:0]
}

func grow(lists map[uint32]*list, term uint32) *list {
	l := lists[term]
	if l == nil {
		l = &list{}
		lists[term] = l
	}
	return l
}

func (b *Builder) addChunk(c store.Chunk, tokens uint32) {
	crumb := b.intern(c.Breadcrumb)
	b.chunks = appendNumbers(b.chunks, b.head.files, c.Start, c.End, c.StartLine, c.EndLine, tokens,
		crumb.offset, crumb.length, 0)
	b.head.chunks++
}

// addDefinitions indexes the definitions of a file and returns the words of their names.
func (b *Builder) addDefinitions(syntax store.Syntax, firstChunk uint32) (tokens uint64) {
	for _, d := range syntax.Definitions {
		ordinal := b.head.definitions
		n := b.count([]byte(d.Name))
		b.flush(func(term, n uint32) { grow(b.names, term).add(ordinal, n) })
		chunk := firstChunk + chunkOf(syntax.Chunks, d.Start)
		at := int(chunk)*chunkSize + 4*chunkNames
		named := binary.LittleEndian.Uint32(b.chunks[at:])
		binary.LittleEndian.PutUint32(b.chunks[at:], named+n)
		name := b.intern(d.Name)
		b.definitions = appendNumbers(b.definitions, name.offset, name.length|b.kind(d.Kind)<<kindShift, chunk,
			d.StartLine, uint32(d.Parent))
		lowered := strings.ToLower(d.Name)
		b.nameKeys = append(b.nameKeys, span{uint32(len(b.lowered)), uint32(len(lowered))})
		b.lowered = append(b.lowered, lowered...)
		b.head.definitions++
		tokens += uint64(n)
	}
	return tokens
}

// chunkOf returns the last chunk that begins at or before a byte.
func chunkOf(chunks []store.Chunk, at uint32) uint32 {
	i := sort.Search(len(chunks), func(i int) bool { return chunks[i].Start > at })
	return uint32(max(i-1, 0))
}

func (b *Builder) intern(s string) span {
	id := b.strings.intern([]byte(s))
	return span{b.strings.offsets[id], uint32(len(s))}
}

func (b *Builder) kind(name string) uint32 {
	number, ok := b.kinds[name]
	if !ok {
		number = uint32(len(b.kinds))
		b.kinds[name] = number
		at := b.intern(name)
		b.kindSpans = appendNumbers(b.kindSpans, at.offset, at.length)
	}
	return number
}
