// Package pairs holds what the trainer learns from: pairs of texts that say the same thing,
// one in words and one in code, as bags of interned words. Package mine fills a Set, package
// fit reads it; a Set can be written to a file, so that several trainings share one mining.
package pairs

import (
	"fmt"
	"slices"

	"github.com/freshet/freshet/store/lexical"
)

// Kind says where a pair comes from.
type Kind uint8

// The kinds of pair.
const (
	Doc     Kind = iota // the comment above a definition -> the definition
	Inline              // a comment inside a body -> the lines after it
	Name                // the name of a definition -> its body without the name
	Path                // the words of a path -> lines of the file
	Test                // the title of a test -> its body
	Section             // the text of a section of a document -> its code block
	Kinds               // how many there are
)

// String returns the name of a kind.
func (k Kind) String() string {
	return [...]string{"doc", "inline", "name", "path", "test", "section", "?"}[min(k, Kinds)]
}

// MaxDistinct is the most distinct words of a text that are kept, the first ones.
const MaxDistinct = 96

// maxWords is the most words of a dictionary: an entry keeps 24 bits of the word.
const maxWords = 1 << 24

// Entry is a word of a text with its count: the number of the word and, in the upper 8
// bits, how often it occurs.
type Entry uint32

// Word is the number of the entry's word in the dictionary.
func (e Entry) Word() int { return int(e & (maxWords - 1)) }

// Count is how often the word occurs, at most 255.
func (e Entry) Count() int { return int(e >> 24) }

// NewEntry returns the entry of a word.
func NewEntry(word, count int) Entry { return Entry(uint32(word) | uint32(min(count, 255))<<24) }

// Pair is two texts of a source.
type Pair struct {
	Query, Code []Entry
	// Place is the last words of the path of the file.
	Place    []Entry
	Kind     Kind
	Language int16
	Source   int32
}

// Set is pairs over one dictionary. Fill it from one goroutine.
type Set struct {
	Words     []string
	Sources   []string
	Languages []string
	Pairs     []Pair

	numbers map[string]int32
	sources map[string]int32
	scanner lexical.Scanner
	places  map[int32]int
}

// New returns an empty set.
func New() *Set {
	return &Set{numbers: map[string]int32{}, sources: map[string]int32{}, places: map[int32]int{}}
}

// Source returns the number of a source, which it adds when it is new.
func (s *Set) Source(name string) int32 {
	n, ok := s.sources[name]
	if !ok {
		n = int32(len(s.Sources))
		s.Sources = append(s.Sources, name)
		s.sources[name] = n
	}
	return n
}

// Language returns the number of a language, which it adds when it is new.
func (s *Set) Language(name string) int16 {
	at := slices.Index(s.Languages, name)
	if at < 0 {
		at = len(s.Languages)
		s.Languages = append(s.Languages, name)
	}
	return int16(at)
}

// Bag returns the distinct words of a text with their counts, in the order of first use.
func (s *Set) Bag(text []byte) []Entry {
	clear(s.places)
	bag := make([]Entry, 0, 32)
	s.scanner.Reset(text)
	for s.scanner.Next() {
		n := s.number(s.scanner.Token())
		at, held := s.places[n]
		switch {
		case held && bag[at].Count() < 255:
			bag[at] += 1 << 24
		case !held && len(bag) < MaxDistinct:
			s.places[n] = len(bag)
			bag = append(bag, NewEntry(int(n), 1))
		}
	}
	return slices.Clip(bag)
}

func (s *Set) number(token []byte) int32 {
	n, ok := s.numbers[string(token)]
	if !ok {
		if len(s.Words) == maxWords {
			panic(fmt.Sprintf("more than %d distinct words", maxWords))
		}
		n = int32(len(s.Words))
		s.Words = append(s.Words, string(token))
		s.numbers[s.Words[n]] = n
	}
	return n
}

// Add appends a pair.
func (s *Set) Add(p Pair) { s.Pairs = append(s.Pairs, p) }

// Count returns how many pairs there are of each language and kind.
func (s *Set) Count() map[string][Kinds]int {
	out := map[string][Kinds]int{}
	for _, p := range s.Pairs {
		row := out[s.Languages[p.Language]]
		row[p.Kind]++
		out[s.Languages[p.Language]] = row
	}
	return out
}
