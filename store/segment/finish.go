package segment

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/freshet/freshet/store"
)

// cuts numbers the ways of cutting, as file records hold them.
var cuts = [...]store.Cut{"", store.CutGrammar, store.CutStructure, store.CutLines, store.CutQuarantined}

// Finish returns the segment. The builder must not be used afterwards.
func (b *Builder) Finish() ([]byte, error) {
	var parts [sectionCount][]byte
	parts[sectionFiles], parts[sectionChunks], parts[sectionDefinitions] = b.files, b.chunks, b.definitions
	parts[sectionNameOrder] = b.nameOrder()
	parts[sectionStrings], parts[sectionKinds] = b.strings.arena, b.kindSpans
	b.writeTerms(&parts)
	if b.vectors.any {
		parts[sectionVectors], parts[sectionSigns] = b.vectors.data, b.vectors.signs
		parts[sectionScales], parts[sectionHasVector] = b.vectors.scales, b.vectors.has
	}
	if b.trigrams != nil {
		parts[sectionTrigrams] = b.trigrams.Bytes()
	}
	for i, part := range parts {
		if uint64(len(part)) > math.MaxUint32 && section(i) != sectionVectors {
			return nil, fmt.Errorf("finish segment: section %d of %d bytes: %w", i, len(part), ErrTooLarge)
		}
	}
	b.head.terms = uint32(b.terms.len())
	return b.assemble(&parts), nil
}

func (b *Builder) assemble(parts *[sectionCount][]byte) []byte {
	at := align(uint64(headerSize))
	for i, part := range parts {
		b.head.offsets[i], b.head.lengths[i] = at, uint64(len(part))
		at = align(at + uint64(len(part)))
	}
	data := b.head.append(make([]byte, 0, at))
	for i, part := range parts {
		data = append(data[:b.head.offsets[i]], part...)
		parts[i] = nil
	}
	return data[:at]
}

func align(n uint64) uint64 { return (n + alignment - 1) &^ (alignment - 1) }

// nameOrder sorts the definitions by lower-cased name, then ordinal.
func (b *Builder) nameOrder() []byte {
	order := make([]uint32, b.head.definitions)
	for i := range order {
		order[i] = uint32(i)
	}
	key := func(i uint32) []byte {
		at := b.nameKeys[i]
		return b.lowered[at.offset : at.offset+at.length]
	}
	slices.SortStableFunc(order, func(x, y uint32) int { return bytes.Compare(key(x), key(y)) })
	return appendNumbers(make([]byte, 0, 4*len(order)), order...)
}

// writeTerms writes the dictionary and the postings in the order of the terms' bytes.
func (b *Builder) writeTerms(parts *[sectionCount][]byte) {
	order := make([]uint32, b.terms.len())
	size := 0
	for i := range order {
		order[i] = uint32(i)
		size += len(b.body[i].data) + 2
	}
	slices.SortFunc(order, func(x, y uint32) int { return bytes.Compare(b.terms.bytes(x), b.terms.bytes(y)) })
	terms := make([]byte, 0, len(b.terms.arena))
	postings := make([]byte, 0, size)
	termOffsets := make([]byte, 0, 4*len(order)+4)
	postingOffsets := make([]byte, 0, 4*len(order)+4)
	for _, term := range order {
		termOffsets = appendNumbers(termOffsets, uint32(len(terms)))
		postingOffsets = appendNumbers(postingOffsets, uint32(len(postings)))
		terms = append(terms, b.terms.bytes(term)...)
		postings = appendTerm(postings, b.body[term].data, data(b.paths[term]), data(b.names[term]))
		b.body[term].data = nil
	}
	parts[sectionTerms], parts[sectionPostings] = terms, postings
	parts[sectionTermOffsets] = appendNumbers(termOffsets, uint32(len(terms)))
	parts[sectionPostingOffsets] = appendNumbers(postingOffsets, uint32(len(postings)))
}

func data(l *list) []byte {
	if l == nil {
		return nil
	}
	return l.data
}
