package segment

import (
	"errors"
	"fmt"
)

// validate checks every table that accessors index with: sizes, spans of strings, ranges
// of ordinals. Postings are checked when they are read.
func (s *Segment) validate() error {
	if err := s.validateSizes(); err != nil {
		return err
	}
	for i := range len(s.kinds) / spanSize {
		if !s.validString(s.kinds, spanSize, i, 0) {
			return fmt.Errorf("kind %d beyond the strings", i)
		}
	}
	if err := s.validateFiles(); err != nil {
		return err
	}
	if err := validateOffsets(s.termOffsets, len(s.terms)); err != nil {
		return fmt.Errorf("terms: %w", err)
	}
	if err := validateOffsets(s.postingOffsets, len(s.postings)); err != nil {
		return fmt.Errorf("postings: %w", err)
	}
	for i := range s.Definitions() {
		if number(s.nameOrder, i) >= s.head.definitions {
			return fmt.Errorf("name order %d beyond the definitions", i)
		}
	}
	return nil
}

func (s *Segment) validateSizes() error {
	h, n := &s.head, func(count uint32, size int) uint64 { return uint64(count) * uint64(size) }
	type size struct {
		got  []byte
		want uint64
	}
	sizes := []size{
		{s.files, n(h.files, fileSize)}, {s.chunks, n(h.chunks, chunkSize)},
		{s.definitions, n(h.definitions, definitionSize)}, {s.nameOrder, n(h.definitions, 4)},
		{s.kinds, uint64(len(s.kinds)) / spanSize * spanSize},
		{s.termOffsets, n(h.terms, 4) + 4}, {s.postingOffsets, n(h.terms, 4) + 4},
	}
	if s.HasVectors() {
		sizes = append(sizes, size{s.vectors, n(h.chunks, int(h.dimension))},
			size{s.signs, n(h.chunks, 8*signWords(int(h.dimension)))},
			size{s.scales, n(h.chunks, 4)}, size{s.has, (uint64(h.chunks) + 7) / 8})
	}
	for i, size := range sizes {
		if uint64(len(size.got)) != size.want {
			return fmt.Errorf("table %d has %d bytes, want %d", i, len(size.got), size.want)
		}
	}
	return nil
}

func (s *Segment) validateFiles() error {
	chunks, definitions := 0, 0
	body, path, names := uint64(0), uint64(0), uint64(0)
	for i := range s.Files() {
		f := s.fileRecord(i)
		if !s.validString(s.files, fileSize, i, filePath) || !s.validString(s.files, fileSize, i, fileLanguage) {
			return fmt.Errorf("file %d has a name beyond the strings", i)
		}
		if f.firstChunk != chunks || f.firstDefinition != definitions ||
			f.chunks > s.Chunks()-chunks || f.definitions > s.Definitions()-definitions {
			return fmt.Errorf("file %d has chunks or definitions out of order", i)
		}
		if err := s.validateRange(i, f); err != nil {
			return err
		}
		chunks, definitions = chunks+f.chunks, definitions+f.definitions
		body, path, names = body+f.bodyTokens, path+uint64(f.pathTokens)*uint64(f.chunks), names+f.nameTokens
	}
	if chunks != s.Chunks() || definitions != s.Definitions() {
		return errors.New("chunks or definitions without a file")
	}
	if body != s.head.bodyTokens || path != s.head.pathTokens || names != s.head.nameTokens {
		return errors.New("token counts do not add up")
	}
	return nil
}

// validateRange checks the chunks and definitions of one file.
func (s *Segment) validateRange(file int, f fileRecord) error {
	for i := f.firstChunk; i < f.firstChunk+f.chunks; i++ {
		if s.ChunkFile(i) != file || !s.validString(s.chunks, chunkSize, i, chunkBreadcrumb) {
			return fmt.Errorf("chunk %d does not fit its file", i)
		}
	}
	for i := f.firstDefinition; i < f.firstDefinition+f.definitions; i++ {
		get := func(at int) uint32 { return field(s.definitions, definitionSize, i, at) }
		chunk, parent := int64(get(definitionChunk)), int64(int32(get(definitionParent)))
		kind := get(definitionKind)
		if uint64(get(definitionName))+uint64(kind&maxName) > uint64(len(s.strings)) ||
			int(kind>>kindShift) >= len(s.kinds)/spanSize ||
			chunk < int64(f.firstChunk) || chunk >= int64(f.firstChunk+f.chunks) ||
			parent < -1 || parent >= int64(f.definitions) || parent == int64(i-f.firstDefinition) {
			return fmt.Errorf("definition %d does not fit its file", i)
		}
	}
	return nil
}

func (s *Segment) validString(table []byte, size, record, i int) bool {
	return uint64(field(table, size, record, i))+uint64(field(table, size, record, i+1)) <= uint64(len(s.strings))
}

// validateOffsets checks that a table of offsets begins at 0, never falls and ends at end.
func validateOffsets(table []byte, end int) error {
	before := uint32(0)
	for i := range len(table) / 4 {
		at := number(table, i)
		if at < before || i == 0 && at != 0 {
			return fmt.Errorf("offset %d falls", i)
		}
		before = at
	}
	if uint64(before) != uint64(end) {
		return fmt.Errorf("offsets end at %d of %d", before, end)
	}
	return nil
}
