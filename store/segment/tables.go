package segment

import (
	"encoding/binary"

	"github.com/freshet/freshet/store"
	"github.com/freshet/freshet/sync/merkle"
)

// Fields of a file record, in 32-bit numbers; the hashes follow at fileHashes.
const (
	filePath            = 0
	fileLanguage        = 2
	fileFirstChunk      = 4
	fileChunks          = 5
	fileFirstDefinition = 6
	fileDefinitions     = 7
	filePathTokens      = 8
	fileFlags           = 9
	fileNumbers         = 40 // bytes: size, body tokens, name tokens
	fileHashes          = 64 // bytes: content, digest
)

// Fields of a chunk record.
const (
	chunkFile       = 0
	chunkStart      = 1
	chunkEnd        = 2
	chunkStartLine  = 3
	chunkEndLine    = 4
	chunkTokens     = 5
	chunkBreadcrumb = 6
	chunkNames      = 8
)

// Fields of a definition record.
const (
	definitionName      = 0
	definitionKind      = 1 // with the length of the name
	definitionChunk     = 2
	definitionStartLine = 3
	definitionParent    = 4
)

// FileInfo is a file as a segment holds it. Tokens are sums over its chunks, but for
// PathTokens, which counts the words of the path once.
type FileInfo struct {
	Entry                        store.FileEntry // RenamedFrom is not kept
	Cut                          store.Cut
	Digest                       merkle.Hash // EntryDigest of the file
	FirstChunk, Chunks           int
	FirstDefinition, Definitions int
	PathTokens                   int
	BodyTokens, NameTokens       uint64
}

type fileRecord struct {
	firstChunk, chunks, firstDefinition, definitions int
	pathTokens                                       uint32
	bodyTokens, nameTokens                           uint64
}

func (s *Segment) fileRecord(file int) fileRecord {
	get := func(i int) int { return int(field(s.files, fileSize, file, i)) }
	numbers := s.files[file*fileSize+fileNumbers:]
	return fileRecord{
		firstChunk: get(fileFirstChunk), chunks: get(fileChunks),
		firstDefinition: get(fileFirstDefinition), definitions: get(fileDefinitions),
		pathTokens: uint32(get(filePathTokens)),
		bodyTokens: binary.LittleEndian.Uint64(numbers[8:]), nameTokens: binary.LittleEndian.Uint64(numbers[16:]),
	}
}

// File returns a file, copied out of the blob. The ordinal must be below Files.
func (s *Segment) File(file int) FileInfo {
	r := s.fileRecord(file)
	flags := field(s.files, fileSize, file, fileFlags)
	hashes := s.files[file*fileSize+fileHashes:]
	info := FileInfo{
		Entry: store.FileEntry{
			Path: string(s.Path(file)), Language: string(s.Language(file)), Flags: s.Flags(file),
			Content: merkle.Hash(hashes[:32]),
			Size:    int64(binary.LittleEndian.Uint64(s.files[file*fileSize+fileNumbers:])),
		},
		Digest:     merkle.Hash(hashes[32:64]),
		FirstChunk: r.firstChunk, Chunks: r.chunks, FirstDefinition: r.firstDefinition, Definitions: r.definitions,
		PathTokens: int(r.pathTokens), BodyTokens: r.bodyTokens, NameTokens: r.nameTokens,
	}
	if cut := int(flags >> 8); cut < len(cuts) {
		info.Cut = cuts[cut]
	}
	return info
}

// Path returns the path of a file, in place.
func (s *Segment) Path(file int) []byte { return s.str(s.files, fileSize, file, filePath) }

// Language returns the language of a file, in place.
func (s *Segment) Language(file int) []byte { return s.str(s.files, fileSize, file, fileLanguage) }

// Flags returns the flags of a file.
func (s *Segment) Flags(file int) store.FileFlags {
	return store.FileFlags(field(s.files, fileSize, file, fileFlags))
}

// FileChunks returns the ordinals [first, end) of the chunks of a file.
func (s *Segment) FileChunks(file int) (first, end int) {
	first = int(field(s.files, fileSize, file, fileFirstChunk))
	return first, first + int(field(s.files, fileSize, file, fileChunks))
}

// PathTokens returns the number of words of a file's path.
func (s *Segment) PathTokens(file int) int {
	return int(field(s.files, fileSize, file, filePathTokens))
}

// ChunkFile returns the file of a chunk.
func (s *Segment) ChunkFile(chunk int) int {
	return int(field(s.chunks, chunkSize, chunk, chunkFile))
}

// ChunkTokens returns the number of words of a chunk's text, and of the names it defines.
func (s *Segment) ChunkTokens(chunk int) (body, names int) {
	return int(field(s.chunks, chunkSize, chunk, chunkTokens)), int(field(s.chunks, chunkSize, chunk, chunkNames))
}

// ChunkLines returns the lines of a chunk.
func (s *Segment) ChunkLines(chunk int) (start, end uint32) {
	return field(s.chunks, chunkSize, chunk, chunkStartLine), field(s.chunks, chunkSize, chunk, chunkEndLine)
}

// Chunk returns a chunk, copied out of the blob, without its text hash. The ordinal must be
// below Chunks.
func (s *Segment) Chunk(chunk int) store.Chunk {
	get := func(i int) uint32 { return field(s.chunks, chunkSize, chunk, i) }
	return store.Chunk{
		Start: get(chunkStart), End: get(chunkEnd), StartLine: get(chunkStartLine), EndLine: get(chunkEndLine),
		Breadcrumb: string(s.str(s.chunks, chunkSize, chunk, chunkBreadcrumb)),
	}
}

// DefinitionName returns the name of a definition, in place.
func (s *Segment) DefinitionName(definition int) []byte {
	offset := field(s.definitions, definitionSize, definition, definitionName)
	return s.strings[offset : offset+field(s.definitions, definitionSize, definition, definitionKind)&maxName]
}

// DefinitionKind returns the kind of a definition, in place.
func (s *Segment) DefinitionKind(definition int) []byte {
	kind := int(field(s.definitions, definitionSize, definition, definitionKind) >> kindShift)
	return s.str(s.kinds, spanSize, kind, 0)
}

// DefinitionFile returns the file of a definition.
func (s *Segment) DefinitionFile(definition int) int {
	return s.ChunkFile(s.DefinitionChunk(definition))
}

// DefinitionChunk returns the chunk in which a definition begins.
func (s *Segment) DefinitionChunk(definition int) int {
	return int(field(s.definitions, definitionSize, definition, definitionChunk))
}

// DefinitionLine returns the line on which a definition begins.
func (s *Segment) DefinitionLine(definition int) uint32 {
	return field(s.definitions, definitionSize, definition, definitionStartLine)
}

// DefinitionParent returns the ordinal of the enclosing definition, or -1.
func (s *Segment) DefinitionParent(definition int) int {
	parent := int32(field(s.definitions, definitionSize, definition, definitionParent))
	if parent < 0 {
		return -1
	}
	file := s.DefinitionFile(definition)
	return int(field(s.files, fileSize, file, fileFirstDefinition)) + int(parent)
}

// Definition returns what a segment keeps of a definition, copied out of the blob: name,
// kind, the line on which it begins, and its parent, an index into the definitions of its
// file. The rest is that of the same index in the syntax of the file.
func (s *Segment) Definition(definition int) store.Definition {
	line := s.DefinitionLine(definition)
	return store.Definition{
		Name: string(s.DefinitionName(definition)), Kind: string(s.DefinitionKind(definition)),
		StartLine: line, EndLine: line,
		Parent: int32(field(s.definitions, definitionSize, definition, definitionParent)),
	}
}

// ByName returns the i-th definition in the order of lower-cased names.
func (s *Segment) ByName(i int) int { return int(number(s.nameOrder, i)) }
